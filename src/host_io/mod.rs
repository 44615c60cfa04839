//! What local tools do to the world: commands, requests, databases, files; each only within what its extension declares.
//! Knows no Starlark: requests and results are plain data.

mod address;
mod blob;
pub mod command;
mod folder;
mod hosts;
pub mod http;
pub mod postgres;
pub mod sqlite;
mod statement;

use std::path::PathBuf;

pub use folder::Folder;
pub use hosts::Hosts;
pub use statement::{Statement, Wants};

/// What all extensions share: connections that are kept, and where the proxy itself runs.
#[derive(Debug)]
pub struct Reach {
    pub http: http::Clients,
    pub postgres: postgres::Pools,
    /// The proxy's own environment.
    pub variables: Vec<(String, String)>,
    /// The proxy's own program, for the watchdog over commands; none where nobody starts any.
    pub executable: Option<PathBuf>,
}

impl Reach {
    pub fn new(variables: Vec<(String, String)>, executable: Option<PathBuf>) -> Self {
        Reach { http: http::Clients::default(), postgres: postgres::Pools::default(), variables, executable }
    }

    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}
