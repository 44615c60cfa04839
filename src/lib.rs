//! The MCP proxy that you program: many servers in front, one Starlark script in the middle, one client behind.
//!
//! The modules, lowest layer first. A module uses lower layers only, and modules of one layer do not use each other.

// Layer 0
pub mod diagnostic;
pub mod model;
pub mod json;
pub mod process;

// Layer 1
pub mod wire;
pub mod config;

// Layer 2
pub mod backend;

// Layer 3
pub mod catalog;
