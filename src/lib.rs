//! The MCP proxy that you program. The modules, lowest layer first; each uses only those of lower layers.

// Layer 0: plain things.
pub mod diagnostic;
pub mod json;
pub mod model;

// Layer 1: the Starlark host.
pub mod script;

// Layer 3: what the backends offer.
pub mod catalog;

// Layer 4: the language of scripts.
pub mod builtins;

// Layer 5: local tools.
pub mod extension;
