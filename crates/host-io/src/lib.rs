//! I/O for local tools: commands, HTTP requests, databases and files, each within the permissions of the extension. Requests
//! and results are plain data: it knows neither Starlark nor MCP.

mod blob;
mod client_folders;
pub mod command;
mod folder;
mod hosts;
pub mod http;
mod open_path;
pub mod postgres;
pub mod sqlite;
mod statement;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

pub use client_folders::resolved as resolved_client_folders;
pub use folder::Folder;
pub use hosts::Hosts;
pub use open_path::OpenPath;
pub use statement::{Statement, Wants};

/// The I/O resources that all extensions share: pooled connections, and the environment of the proxy.
#[derive(Debug)]
pub struct HostIo {
    pub http: http::HttpClients,
    pub postgres: postgres::Pools,
    /// The environment variables of the proxy.
    pub variables: Vec<(String, String)>,
    /// The executable of the proxy, which is also the watchdog of commands; `None` disables the watchdog.
    pub executable: Option<PathBuf>,
    /// Whether every effect needs the double of a test: nothing here may be used.
    pub needs_doubles: bool,
}

/// Whether [`HostIo`] is made without effects from now on.
static NEEDS_DOUBLES: AtomicBool = AtomicBool::new(false);

/// Whether this process has no effects of its own, because [`require_doubles`] was called.
pub fn needs_doubles() -> bool {
    NEEDS_DOUBLES.load(Ordering::Relaxed)
}

/// From now on no extension of this process has effects: what a test does not replace by a double is an error.
pub fn require_doubles() {
    NEEDS_DOUBLES.store(true, Ordering::Relaxed);
}

impl HostIo {
    pub fn new(variables: Vec<(String, String)>, executable: Option<PathBuf>) -> Self {
        HostIo {
            http: http::HttpClients::default(),
            postgres: postgres::Pools::default(),
            variables,
            executable,
            needs_doubles: needs_doubles(),
        }
    }

    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}
