//! What every other crate may use: errors for people, child processes, the control socket, watched files, memory, encrypted
//! handles, bounded regular expressions, backoff, classes of IP addresses. It knows operating systems and files, and nothing
//! of MCP, JSON or Starlark.

pub mod address;
pub mod backoff;
pub mod bounded_regex;
pub mod control;
pub mod diagnostic;
pub mod foreign_text;
pub mod memory;
pub mod process;
pub mod seal;
pub mod watch;

/// The name by which the proxy introduces itself.
pub const NAME: &str = "starlark-mcp-proxy";
/// The version of the proxy: that of all its crates.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The name and version, as HTTP requests say them.
pub const PRODUCT: &str = concat!("starlark-mcp-proxy/", env!("CARGO_PKG_VERSION"));
