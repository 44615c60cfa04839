//! A snapshot of all backends.

use std::sync::Arc;

use super::{BackendView, Status};

/// All backends in config order. Immutable: every change makes a new snapshot.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub version: u64,
    /// The generation of the set of backends.
    pub generation: u64,
    pub backends: Vec<Arc<BackendView>>,
}

impl Snapshot {
    pub fn backend(&self, name: &str) -> Option<&Arc<BackendView>> {
        self.backends.iter().find(|backend| backend.name.as_ref() == name)
    }

    /// Whether every backend is ready, has failed, or is known from the cache.
    pub fn is_settled(&self) -> bool {
        self.backends.iter().all(|backend| backend.status != Status::Starting)
    }
}
