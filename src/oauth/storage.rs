//! Where the records of log-ins are kept.

use std::path::{Path, PathBuf};

use crate::config::Config;

/// Files that only the user can read, or sealed records in the Redis that several proxies share.
#[derive(Clone, Debug)]
pub struct CredentialStorage {
    folder: Option<PathBuf>,
}

impl CredentialStorage {
    /// The storage that the config asks for. Nothing is opened yet: what is wrong is said when it is used.
    /// `state_folder` is `$XDG_STATE_HOME/starlark-mcp-proxy`.
    pub fn for_config(_config: &Config, state_folder: Option<&Path>) -> Self {
        CredentialStorage { folder: state_folder.map(|folder| folder.join("credentials")) }
    }

    /// Files in this folder.
    pub fn files(folder: PathBuf) -> Self {
        CredentialStorage { folder: Some(folder) }
    }
}
