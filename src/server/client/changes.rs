//! When what a client sees has really changed.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::watch;

use crate::gateway::{Gateway, SurfaceHandle};
use crate::model::ItemKind;
use crate::surface::Surface;

/// The notification that a list changed; resources and their templates share one.
fn notification(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Tool => "notifications/tools/list_changed",
        ItemKind::Resource | ItemKind::ResourceTemplate => "notifications/resources/list_changed",
        ItemKind::Prompt => "notifications/prompts/list_changed",
    }
}

/// Follows the lists that one visitor sees.
pub(crate) struct Changes {
    gateway: Arc<Gateway>,
    view: Arc<SurfaceHandle>,
    news: watch::Receiver<u64>,
    seen: Option<Arc<Surface>>,
}

impl Changes {
    /// From now on.
    pub(crate) fn of(gateway: &Arc<Gateway>, view: &Arc<SurfaceHandle>) -> Self {
        let mut news = gateway.news();
        news.mark_unchanged();
        let seen = gateway.surface_now(view);
        Changes { gateway: Arc::clone(gateway), view: Arc::clone(view), news, seen }
    }

    /// Ends when a list differs from the one last seen, with the notifications that say so; none when there will be no
    /// more. The very first lists are no change: nobody has seen others.
    pub(crate) async fn next(&mut self) -> Option<Vec<&'static str>> {
        while self.news.changed().await.is_ok() {
            let Some(now) = self.gateway.surface_now(&self.view) else { continue };
            let changed = self.seen.as_ref().map(|seen| differences(seen, &now)).unwrap_or_default();
            self.seen = Some(now);
            if !changed.is_empty() {
                return Some(changed);
            }
        }
        None
    }
}

/// What the client of a session last saw of its lists.
#[derive(Debug, Default)]
pub(crate) struct Seen(Mutex<Option<Arc<Surface>>>);

impl Seen {
    /// It sees this, if it has not seen anything yet.
    pub(crate) fn first(&self, surface: &Arc<Surface>) {
        let mut seen = self.0.lock();
        if seen.is_none() {
            *seen = Some(Arc::clone(surface));
        }
    }

    /// From now on it sees this: the notifications that say what is different. The first lists are no change.
    pub(crate) fn turn_to(&self, now: &Arc<Surface>, known: &mut Compared) -> Vec<&'static str> {
        let before = self.0.lock().replace(Arc::clone(now));
        before.map(|before| known.differences(before, now)).unwrap_or_default()
    }
}

/// Comparisons that were made for another session already: most of them see the same.
#[derive(Default)]
pub(crate) struct Compared(HashMap<(usize, usize), Difference>);

/// The older one, and what is told of it.
type Difference = (Arc<Surface>, Vec<&'static str>);

impl Compared {
    fn differences(&mut self, before: Arc<Surface>, now: &Arc<Surface>) -> Vec<&'static str> {
        let pair = (Arc::as_ptr(&before).addr(), Arc::as_ptr(now).addr());
        // The older one is kept: while it is, nothing else can be at its address.
        let compare = || {
            let changed = differences(&before, now);
            (before, changed)
        };
        self.0.entry(pair).or_insert_with(compare).1.clone()
    }
}

fn differences(seen: &Arc<Surface>, now: &Arc<Surface>) -> Vec<&'static str> {
    if Arc::ptr_eq(seen, now) {
        return Vec::new();
    }
    let changed = ItemKind::ALL.into_iter().filter(|kind| seen.list(*kind) != now.list(*kind));
    let mut changed: Vec<&'static str> = changed.map(notification).collect();
    changed.dedup();
    changed
}
