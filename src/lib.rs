//! The MCP proxy that you program. The modules, lowest layer first; each uses only those above it in this list.

pub mod process;
pub mod wire;
pub mod catalog;
pub mod diagnostic;
pub mod json;
pub mod model;
