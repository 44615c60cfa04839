//! The backends by name, as they are now. Calls take them as they are when they begin; one that was taken out ends when
//! the last call that may use it has.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use tokio::sync::Notify;

use super::catalog::Members;
use crate::backend::{Backend, Handle};
use crate::calls::Calls;
use crate::store::Store;

pub(super) struct BackendSet {
    members: Arc<ArcSwap<Members>>,
    calls: ArcSwap<Calls>,
    /// No longer in the catalog, but surfaces that know them are still in use.
    leaving: Mutex<Vec<Arc<dyn Backend>>>,
    /// Every server that may still run.
    handles: Mutex<Vec<Handle>>,
    changes: Arc<Notify>,
}

impl BackendSet {
    /// `changes` is told whenever the backends are others.
    pub(super) fn new(calls: Calls, changes: Arc<Notify>) -> Self {
        BackendSet {
            members: Arc::default(),
            calls: ArcSwap::from_pointee(calls),
            leaving: Mutex::default(),
            handles: Mutex::default(),
            changes,
        }
    }

    /// What the catalog follows.
    pub(super) fn members(&self) -> &Arc<ArcSwap<Members>> {
        &self.members
    }

    pub(super) fn generation(&self) -> u64 {
        self.members.load().generation
    }

    /// The way to the backends of this moment.
    pub(super) fn calls(&self) -> Arc<Calls> {
        self.calls.load_full()
    }

    /// A server was started; it is ended with the others, whoever holds it then.
    pub(super) fn started(&self, handle: &Handle) {
        let mut handles = lock(&self.handles);
        handles.retain(|handle| !handle.is_gone());
        handles.push(handle.clone());
    }

    /// Has these backends in place of the ones before. Those that are not among them stay reachable until [`Self::part`].
    pub(super) fn replace(&self, backends: Vec<Arc<dyn Backend>>) {
        let old = self.members.load_full();
        let mut leaving = lock(&self.leaving);
        let stays = |backend: &Arc<dyn Backend>| backends.iter().any(|other| Arc::ptr_eq(backend, other));
        leaving.extend(old.backends.iter().filter(|backend| !stays(backend)).cloned());
        // What is named twice is the later one.
        self.dispatch_to(leaving.iter().chain(&backends));
        self.members.store(Arc::new(Members { generation: old.generation + 1, backends }));
        self.changes.notify_one();
    }

    /// Lets go of the backends that were taken out: no surface names them any more.
    pub(super) fn part(&self) {
        let mut leaving = lock(&self.leaving);
        if leaving.is_empty() {
            return;
        }
        let gone = std::mem::take(&mut *leaving);
        self.dispatch_to(self.members.load().backends.iter());
        drop(leaving);
        drop(gone);
    }

    fn dispatch_to<'a>(&self, backends: impl Iterator<Item = &'a Arc<dyn Backend>>) {
        let backends: Vec<_> = backends.cloned().collect();
        let calls =
            Calls { dispatcher: self.calls.load().dispatcher.with(&backends), ..Calls::clone(&self.calls.load()) };
        self.calls.store(Arc::new(calls));
    }

    /// Has calls from now on use this store.
    pub(super) fn keep_in(&self, store: Store) {
        let _whole = lock(&self.leaving);
        self.calls.store(Arc::new(Calls { store, ..Calls::clone(&self.calls.load()) }));
    }

    /// Ends every server, all at once, also those that only a call keeps.
    pub(super) async fn stop(&self) {
        let handles = lock(&self.handles).clone();
        futures::future::join_all(handles.iter().map(Handle::stop)).await;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
