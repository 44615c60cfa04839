//! When what a client sees has really changed.

use std::sync::Arc;

use tokio::sync::watch;

use crate::gateway::{Current, Gateway};
use crate::model::ItemKind;
use crate::session::Surface;

/// The notification that a list changed; resources and their templates share one.
fn notification(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Tool => "notifications/tools/list_changed",
        ItemKind::Resource | ItemKind::ResourceTemplate => "notifications/resources/list_changed",
        ItemKind::Prompt => "notifications/prompts/list_changed",
    }
}

/// Follows the lists.
#[derive(Debug)]
pub(super) struct Changes {
    current: watch::Receiver<Current>,
    seen: Option<Arc<Surface>>,
}

impl Changes {
    /// From now on.
    pub(super) fn of(gateway: &Gateway) -> Self {
        let mut current = gateway.watch();
        let seen = current.borrow_and_update().surface.clone();
        Changes { current, seen }
    }

    /// Ends when a list differs from the one last seen, with the notifications that say so; none when there will be no
    /// more. The very first lists are no change: nobody has seen others.
    pub(super) async fn next(&mut self) -> Option<Vec<&'static str>> {
        while self.current.changed().await.is_ok() {
            let now = self.current.borrow_and_update().surface.clone();
            let changed = match (&self.seen, &now) {
                (Some(seen), Some(now)) => differences(seen, now),
                _ => Vec::new(),
            };
            self.seen = now;
            if !changed.is_empty() {
                return Some(changed);
            }
        }
        None
    }
}

fn differences(seen: &Surface, now: &Surface) -> Vec<&'static str> {
    let changed = ItemKind::ALL.into_iter().filter(|kind| seen.list(*kind) != now.list(*kind));
    let mut changed: Vec<&'static str> = changed.map(notification).collect();
    changed.dedup();
    changed
}
