//! Foundations for every other crate: diagnostics, child processes, the control socket, file watching, memory limits,
//! encrypted handles, bounded regular expressions, backoff, and IP address classes. It knows operating systems and files,
//! but nothing about MCP, JSON or Starlark.

pub mod address;
pub mod backoff;
pub mod bounded_regex;
pub mod control;
pub mod diagnostic;
pub mod foreign_text;
pub mod grouped_digits;
pub mod memory;
pub mod process;
pub mod seal;
pub mod watch;

/// The name by which the proxy introduces itself.
pub const NAME: &str = "starlark-mcp-proxy";
/// The version of the proxy: that of all its crates.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The name and version for the HTTP `User-Agent` header.
pub const PRODUCT: &str = concat!("starlark-mcp-proxy/", env!("CARGO_PKG_VERSION"));
