//! The set of backends in use. A call keeps the set it began with; a backend that was removed from the set stops when
//! the last call that may use it has finished.

use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use super::catalog::BackendMembers;
use crate::calls::Calls;
use proxy_mcp_client::{Backend, Handle};
use proxy_store::Store;

pub(super) struct BackendSet {
    members: Arc<ArcSwap<BackendMembers>>,
    calls: ArcSwap<Calls>,
    /// Removed from the catalog, but still named by surfaces in use.
    removed: Mutex<Vec<Arc<dyn Backend>>>,
    /// Every server that may still run.
    handles: Mutex<Vec<Handle>>,
    changes: Arc<Notify>,
}

impl BackendSet {
    /// An empty set, which notifies `changes` whenever it is replaced.
    pub(super) fn new(calls: Calls, changes: Arc<Notify>) -> Self {
        BackendSet {
            members: Arc::default(),
            calls: ArcSwap::from_pointee(calls),
            removed: Mutex::default(),
            handles: Mutex::default(),
            changes,
        }
    }

    /// The backends that the catalog shows.
    pub(super) fn members(&self) -> &Arc<ArcSwap<BackendMembers>> {
        &self.members
    }

    pub(super) fn generation(&self) -> u64 {
        self.members.load().generation
    }

    /// Dispatches to the present backends, also after the set has been replaced.
    pub(super) fn calls(&self) -> Arc<Calls> {
        self.calls.load_full()
    }

    /// Records a started server, so that [`Self::stop`] ends it even if only a call still holds it.
    pub(super) fn register(&self, handle: &Handle) {
        let mut handles = lock(&self.handles);
        handles.retain(|handle| !handle.is_gone());
        handles.push(handle.clone());
    }

    /// Replaces the set. Backends that are no longer in it stay callable until [`Self::release_removed`].
    pub(super) fn replace(&self, backends: Vec<Arc<dyn Backend>>) {
        let old = self.members.load_full();
        let mut removed = lock(&self.removed);
        let stays = |backend: &Arc<dyn Backend>| backends.iter().any(|other| Arc::ptr_eq(backend, other));
        removed.extend(old.backends.iter().filter(|backend| !stays(backend)).cloned());
        // Of two backends with one name the dispatcher takes the later, so a new backend goes before a removed one.
        self.dispatch_to(removed.iter().chain(&backends));
        self.members.store(Arc::new(BackendMembers::new(old.generation + 1, backends)));
        self.changes.notify_one();
    }

    /// Drops the removed backends, once no surface names them any more.
    pub(super) fn release_removed(&self) {
        let mut removed = lock(&self.removed);
        if removed.is_empty() {
            return;
        }
        let released = std::mem::take(&mut *removed);
        self.dispatch_to(self.members.load().backends.iter());
        drop(removed);
        drop(released);
    }

    fn dispatch_to<'a>(&self, backends: impl Iterator<Item = &'a Arc<dyn Backend>>) {
        let backends: Vec<_> = backends.cloned().collect();
        let calls =
            Calls { dispatcher: self.calls.load().dispatcher.with(&backends), ..Calls::clone(&self.calls.load()) };
        self.calls.store(Arc::new(calls));
    }

    /// Makes later calls use this store.
    pub(super) fn set_store(&self, store: Store) {
        // The lock serializes this with the other writers of `calls`.
        let _writer = lock(&self.removed);
        self.calls.store(Arc::new(Calls { store, ..Calls::clone(&self.calls.load()) }));
    }

    /// Stops every server concurrently, including those that only a call still holds.
    pub(super) async fn stop(&self) {
        let handles = lock(&self.handles).clone();
        let members = self.members.load_full();
        let of_people = members.backends.iter().filter_map(|backend| backend.per_person());
        let of_people = futures::future::join_all(of_people.map(|server| server.stop()));
        tokio::join!(futures::future::join_all(handles.iter().map(Handle::stop)), of_people);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}
