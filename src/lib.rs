//! The MCP proxy that you program: many servers in front, one Starlark script in the middle, one client behind.
//!
//! The modules, lowest layer first. A module uses lower layers only, and modules of one layer do not use each other.

// Layer 0
pub mod control;
pub mod diagnostic;
pub mod json;
pub mod process;
pub mod seal;
pub mod watch;

// Layer 1
pub mod model;
pub mod store;
pub mod reach;

// Layer 2
pub mod wire;
pub mod search;
pub mod script;
pub mod config;

// Layer 3
pub mod backend;
pub mod embedding;

// Layer 4
pub mod catalog;

// Layer 5
pub mod builtins;

// Layer 6
pub mod extension;
pub mod session;

// Layer 7
pub mod gateway;

// Layer 8
pub mod server;
pub mod author;

// Layer 9
pub mod cli;
