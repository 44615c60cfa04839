//! The lock in force, which a reload replaces without touching any server.

use std::sync::Arc;

use arc_swap::{ArcSwapOption, Guard};

use proxy_model::lock::Lock;

/// The lock in force; clones refer to the same. `None` if nothing is locked.
#[derive(Clone, Debug, Default)]
pub struct CurrentLock(Arc<ArcSwapOption<Lock>>);

impl CurrentLock {
    pub fn set(&self, lock: Option<Arc<Lock>>) {
        self.0.store(lock);
    }

    pub fn get(&self) -> Option<Arc<Lock>> {
        self.0.load_full()
    }

    pub(crate) fn load(&self) -> Guard<Option<Arc<Lock>>> {
        self.0.load()
    }
}
