//! A request of nobody in particular: what its handler keeps belongs to that request alone, and goes with it.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::runtime::Handle;

use crate::model::{Owner, Request};
use crate::store::Store;

/// Held by all that runs for the request. The last to let go of it has the values forgotten.
pub(super) struct RequestState {
    owner: Owner,
    store: Store,
    runtime: Handle,
    used: AtomicBool,
}

impl RequestState {
    /// None for a request whose owner outlives it.
    pub(super) fn of(request: &Request, store: &Store, runtime: &Handle) -> Option<Self> {
        let owner = Owner::of_values(&request.principal, request.owner.as_ref());
        let request_state = || RequestState {
            owner: owner.clone(),
            store: store.clone(),
            runtime: runtime.clone(),
            used: AtomicBool::new(false),
        };
        matches!(owner, Owner::Request(_)).then(request_state)
    }

    /// The store was asked for something: there may be values now.
    pub(super) fn use_store(&self) {
        self.used.store(true, Ordering::Relaxed);
    }
}

impl Drop for RequestState {
    fn drop(&mut self) {
        if !*self.used.get_mut() {
            return;
        }
        let (store, owner) = (self.store.clone(), self.owner.clone());
        self.runtime.spawn(async move {
            if let Err(error) = store.forget(&owner).await {
                tracing::debug!("what was kept for a request stays in the store for a while: {error}");
            }
        });
    }
}
