//! What an extension declares that it does.

use crate::host_io::Hosts;

#[derive(Clone, Debug, Default)]
pub struct Permissions {
    /// The commands it runs.
    pub exec: Vec<String>,
    pub hosts: Hosts,
    /// The variables it reads; all of them if it does not say.
    pub env: Option<Vec<String>>,
    /// Further folders.
    pub paths: Vec<String>,
}

impl Permissions {
    pub fn may_read_variable(&self, name: &str) -> bool {
        self.env.as_ref().is_none_or(|names| names.iter().any(|known| known == name))
    }
}
