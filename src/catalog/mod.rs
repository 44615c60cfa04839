//! All that the backends offer, as one immutable snapshot with a version.

use std::sync::Arc;

use crate::model::BackendView;

/// Every backend in config order. Never changed: a change makes a new snapshot.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub version: u64,
    pub backends: Vec<Arc<BackendView>>,
}

impl Snapshot {
    pub fn backend(&self, name: &str) -> Option<&Arc<BackendView>> {
        self.backends.iter().find(|backend| backend.name.as_ref() == name)
    }
}
