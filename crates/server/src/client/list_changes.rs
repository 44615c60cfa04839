//! Detects changes of the lists that a client sees, for `list_changed` notifications. Changes that follow each other
//! closely, as when servers start, are one change.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use proxy_engine::gateway::{Gateway, SurfaceHandle};
use proxy_engine::surface::ListDigests;
use proxy_model::ItemKind;

/// Changes within this time are announced once.
const COALESCE: Duration = Duration::from_millis(500);

/// Watches the surfaces of all clients.
pub(crate) struct SurfaceChanges {
    gateway: Arc<Gateway>,
    pace: Pace,
}

impl SurfaceChanges {
    /// Watches for changes from now on.
    pub(crate) fn of(gateway: &Arc<Gateway>) -> Self {
        SurfaceChanges { gateway: Arc::clone(gateway), pace: Pace::new(gateway.surface_versions()) }
    }

    /// Waits until surfaces may have changed; false if there will be no more changes. While the first lists are awaited,
    /// there is nothing to announce: nobody has seen a list. Cancel-safe.
    pub(crate) async fn next(&mut self) -> bool {
        loop {
            if !self.pace.next().await {
                return false;
            }
            if self.gateway.has_first_lists() {
                return true;
            }
        }
    }
}

/// Makes one change of those that follow each other closely.
struct Pace {
    versions: watch::Receiver<u64>,
    /// When the present change is complete.
    due: Option<Instant>,
}

impl Pace {
    fn new(mut versions: watch::Receiver<u64>) -> Self {
        versions.mark_unchanged();
        Pace { versions, due: None }
    }

    /// Waits for a change and for those that follow within [`COALESCE`]. Cancel-safe.
    async fn next(&mut self) -> bool {
        let due = match self.due {
            Some(due) => due,
            None => {
                if self.versions.changed().await.is_err() {
                    return false;
                }
                *self.due.insert(Instant::now() + COALESCE)
            }
        };
        tokio::time::sleep_until(due).await;
        self.due = None;
        self.versions.mark_unchanged();
        true
    }
}

/// The notification for a changed list. Resources and resource templates share a notification.
pub(crate) const fn list_changed(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Tool => "notifications/tools/list_changed",
        ItemKind::Resource | ItemKind::ResourceTemplate => "notifications/resources/list_changed",
        ItemKind::Prompt => "notifications/prompts/list_changed",
    }
}

/// Watches the lists of one stateless client.
pub(crate) struct ListChanges {
    gateway: Arc<Gateway>,
    handle: Arc<SurfaceHandle>,
    changes: SurfaceChanges,
    last_seen: Option<ListDigests>,
}

impl ListChanges {
    /// Watches for changes from now on.
    pub(crate) fn of(gateway: &Arc<Gateway>, handle: &Arc<SurfaceHandle>) -> Self {
        let changes = SurfaceChanges::of(gateway);
        let last_seen = gateway.lists_now(handle);
        ListChanges { gateway: Arc::clone(gateway), handle: Arc::clone(handle), changes, last_seen }
    }

    /// Waits until a list differs from the list last seen, and returns the notifications for it. Returns `None` if
    /// there will be no more changes. The first lists are not a change.
    pub(crate) async fn next(&mut self) -> Option<Vec<&'static str>> {
        while self.changes.next().await {
            let Some(now) = self.gateway.lists_now(&self.handle) else { continue };
            let changed = self.last_seen.as_ref().map(|seen| differences(seen, &now)).unwrap_or_default();
            self.last_seen = Some(now);
            if !changed.is_empty() {
                return Some(changed);
            }
        }
        None
    }
}

/// The lists that the client of a session saw last.
#[derive(Debug, Default)]
pub(crate) struct SeenLists(Mutex<Option<ListDigests>>);

impl SeenLists {
    /// Sets the lists, unless the client has seen some already.
    pub(crate) fn set_if_none(&self, lists: impl FnOnce() -> ListDigests) {
        self.0.lock().get_or_insert_with(lists);
    }

    /// Takes over a list that the client is about to get: it need not be told of this one.
    pub(crate) fn saw(&self, kind: ItemKind, lists: &ListDigests) {
        self.0.lock().get_or_insert(*lists).take(kind, lists);
    }

    /// Replaces the lists and returns the notifications for those that differ. The first lists are not a change.
    pub(crate) fn replace(&self, now: ListDigests) -> Vec<&'static str> {
        let before = self.0.lock().replace(now);
        before.map(|before| differences(&before, &now)).unwrap_or_default()
    }
}

fn differences(seen: &ListDigests, now: &ListDigests) -> Vec<&'static str> {
    let mut changed: Vec<&'static str> = seen.differences(now).into_iter().map(list_changed).collect();
    changed.dedup();
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn changes_that_follow_closely_are_one() {
        let (versions, receiver) = watch::channel(0);
        let mut pace = Pace::new(receiver);
        versions.send_replace(1);
        // A wait that is given up loses nothing.
        assert!(futures::poll!(std::pin::pin!(pace.next())).is_pending());
        versions.send_replace(2);
        assert!(pace.next().await);
        assert!(futures::poll!(std::pin::pin!(pace.next())).is_pending(), "both changes were one");
        versions.send_replace(3);
        assert!(pace.next().await);
        drop(versions);
        assert!(!pace.next().await);
    }
}
