//! A programmable MCP proxy: clients connect to one endpoint, and a Starlark script decides what each of them sees of
//! the servers behind it.
//!
//! The modules, lowest layer first. A module uses lower layers only, and modules of one layer do not use each other.

// Layer 0
pub mod backoff;
pub mod control;
pub mod diagnostic;
pub mod fiber;
pub mod json;
pub mod process;
pub mod seal;
pub mod watch;

// Layer 1
pub mod model;

// Layer 2
pub mod store;
pub mod host_io;

// Layer 3
pub mod wire;
pub mod script;
pub mod config;
pub mod typings;

// Layer 4
pub mod backend;
pub mod sandbox;
pub mod search;

// Layer 5
pub mod builtins;

// Layer 6
pub mod extension;
pub mod surface;

// Layer 7
pub mod calls;

// Layer 8
pub mod gateway;

// Layer 9
pub mod server;
pub mod author;

// Layer 10
pub mod cli;
