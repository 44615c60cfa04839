//! Deletes the values that a handler stored for a request of an anonymous client without a session. Such values belong
//! to the request and are deleted when it ends.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::runtime::Handle;

use proxy_model::{Owner, RequestInfo};
use proxy_store::Store;

/// Shared by everything that runs for the request. Dropping the last reference deletes the stored values.
pub(in crate::calls) struct RequestState {
    owner: Owner,
    store: Store,
    runtime: Handle,
    used: AtomicBool,
}

impl RequestState {
    /// Returns `None` if the owner of the values outlives the request.
    pub(in crate::calls) fn of(request: &RequestInfo, store: &Store, runtime: &Handle) -> Option<Self> {
        let owner = Owner::of_values(&request.principal, request.owner.as_ref());
        let request_state = || RequestState {
            owner: owner.clone(),
            store: store.clone(),
            runtime: runtime.clone(),
            used: AtomicBool::new(false),
        };
        matches!(owner, Owner::Request(_)).then(request_state)
    }

    /// Records that the store was used: there may be values to delete.
    pub(in crate::calls) fn mark_used(&self) {
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
                tracing::debug!("cannot delete the stored values of a request; they stay until they expire: {error}");
            }
        });
    }
}
