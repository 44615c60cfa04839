//! The snapshot itself.

use std::sync::Arc;

use super::{BackendView, Status};

/// Every backend in config order. Never changed: a change makes a new snapshot.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub version: u64,
    /// Which set of backends it shows.
    pub generation: u64,
    pub backends: Vec<Arc<BackendView>>,
}

impl Snapshot {
    pub fn backend(&self, name: &str) -> Option<&Arc<BackendView>> {
        self.backends.iter().find(|backend| backend.name.as_ref() == name)
    }

    /// Whether something is known of every backend: it is there, it failed, or its last lists are kept.
    pub fn is_settled(&self) -> bool {
        self.backends.iter().all(|backend| backend.status != Status::Starting)
    }
}
