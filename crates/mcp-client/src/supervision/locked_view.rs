//! The view of a server as the lock lets it be seen. Supervision itself works with what the server lists.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::connection::CurrentLock;
use proxy_model::lock::Lock;
use proxy_model::{BackendView, ClientProfile};

#[derive(Debug)]
pub(super) struct LockedView {
    current: CurrentLock,
    last: Mutex<Option<Applied>>,
}

/// The published view, and what it was made from.
#[derive(Debug)]
struct Applied {
    raw: Arc<BackendView>,
    lock: Arc<Lock>,
    profile: ClientProfile,
    published: Arc<BackendView>,
}

impl LockedView {
    pub(super) fn new(current: CurrentLock) -> Self {
        LockedView { current, last: Mutex::default() }
    }

    /// What is published of a view that clients of this profile see. Computed when the server lists something else, or when
    /// the lock changes.
    pub(super) fn published(&self, raw: Arc<BackendView>, profile: impl FnOnce() -> ClientProfile) -> Arc<BackendView> {
        let current = self.current.load();
        let Some(lock) = &*current else { return raw };
        if !lock.rules.contains_key(&*raw.name) {
            return raw;
        }
        let mut last = self.last.lock();
        let profile = profile();
        if let Some(last) = &*last
            && Arc::ptr_eq(&last.raw, &raw)
            && Arc::ptr_eq(&last.lock, lock)
            && last.profile == profile
        {
            return Arc::clone(&last.published);
        }
        let published = Arc::new(lock.published(&raw, profile));
        warn_of_drift(last.as_ref().map(|last| &*last.published), &published);
        *last = Some(Applied { raw, lock: Arc::clone(lock), profile, published: Arc::clone(&published) });
        published
    }

    pub(super) fn is_locked(&self) -> bool {
        self.current.load().is_some()
    }
}

/// Logs what is not as approved, if that is news. Before a server has listed anything, nothing is known.
fn warn_of_drift(before: Option<&BackendView>, now: &BackendView) {
    let old = before.map(BackendView::drift).unwrap_or_default();
    let new = now.drift();
    let server = &now.name;
    let news: Vec<&String> = new.iter().filter(|line| !old.contains(line)).collect();
    if !news.is_empty() {
        let lines: Vec<&str> = news.iter().map(|line| line.as_str()).collect();
        tracing::warn!(%server, "differs from the lock: {}", lines.join("; "));
    } else if new.is_empty() && !old.is_empty() {
        tracing::info!(%server, "is as the lock approves it again");
    }
}
