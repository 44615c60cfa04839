//! The MCP proxy that you program. The modules, lowest layer first; each uses only those above it in this list.

pub mod diagnostic;
pub mod json;
pub mod model;
pub mod script;
pub mod catalog;
pub mod builtins;
pub mod extension;
