//! The permissions that an extension declares.

use crate::host_io::Hosts;

#[derive(Clone, Debug, Default)]
pub struct Permissions {
    /// Commands that it may run.
    pub exec: Vec<String>,
    pub hosts: Hosts,
    /// Environment variables that it may read; None allows all of them.
    pub env: Option<Vec<String>>,
    /// Folders whose files it may use, besides its own.
    pub paths: Vec<String>,
}

impl Permissions {
    pub fn may_read_variable(&self, name: &str) -> bool {
        self.env.as_ref().is_none_or(|names| names.iter().any(|known| known == name))
    }
}
