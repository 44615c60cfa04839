//! A language server for scripts: diagnostics, hover, go to definition, signatures, the outline of a file, and completion,
//! including the names of servers and their tools. Framing, JSON-RPC messages and protocol types are those of `lsp-server` and `lsp-types`.

mod complete;
mod connection;
mod definition;
mod diagnose;
mod document;
mod hover;
mod infer;
mod loadable;
mod server;
mod signature;
mod strings;
mod symbols;
mod syntax;
mod worker;
mod workspace;

pub use complete::completions;
pub use server::{LspEnd, serve};
pub use workspace::Workspace;
