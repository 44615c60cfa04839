//! A language server for scripts: diagnostics, hover, go to definition, signatures, the outline of a file, and completion,
//! including the names of servers and their tools. Framing, JSON-RPC messages and protocol types are those of `lsp-server` and `lsp-types`.

mod complete;
mod connection;
mod definition;
mod definitions;
mod diagnose;
mod document;
mod hover;
mod loadable;
mod server;
mod signature;
mod strings;
mod symbols;
mod syntax;
mod tree;
mod worker;
mod workspace;

pub use complete::completions;
pub use server::{LspEnd, serve};
pub(crate) use syntax::open_at_end;
pub use workspace::Workspace;
