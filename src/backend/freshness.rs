//! How long what a server listed may be kept, by its own word.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::handle::Handle;
use crate::model::{ItemKind, Status};

/// For how long something may be kept, and by whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keeping {
    pub ttl: Duration,
    /// Whether it is the same for everybody.
    pub public: bool,
}

impl Keeping {
    /// What holds for a whole whose parts these are.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Keeping { ttl: self.ttl.min(other.ttl), public: self.public && other.public }
    }
}

#[derive(Debug)]
struct Listed {
    keeping: Keeping,
    at: Instant,
    /// The server says when it changes, and is listed again then.
    followed: bool,
}

impl Listed {
    fn is_stale(&self) -> bool {
        !self.followed && !self.keeping.ttl.is_zero() && self.at.elapsed() >= self.keeping.ttl
    }

    /// What is left of it. A list that is followed is as good as new at any time.
    fn left(&self) -> Keeping {
        let passed = if self.followed { Duration::ZERO } else { self.at.elapsed() };
        Keeping { ttl: self.keeping.ttl.saturating_sub(passed), ..self.keeping }
    }
}

/// What one server said about each of its lists.
#[derive(Debug, Default)]
pub(super) struct Freshness {
    lists: Mutex<HashMap<ItemKind, Listed>>,
    listings: watch::Sender<u64>,
}

impl Freshness {
    fn lock(&self) -> MutexGuard<'_, HashMap<ItemKind, Listed>> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A listing came to its end; without a word on it, or after a failure, nothing may be kept.
    pub(super) fn listed(&self, kind: ItemKind, keeping: Option<Keeping>, followed: bool) {
        match keeping {
            Some(keeping) => self.lock().insert(kind, Listed { keeping, at: Instant::now(), followed }),
            None => self.lock().remove(&kind),
        };
        self.listings.send_modify(|count| *count += 1);
    }

    fn is_stale(&self, kind: ItemKind) -> bool {
        self.lock().get(&kind).is_some_and(Listed::is_stale)
    }

    fn left(&self, kind: ItemKind) -> Keeping {
        self.lock().get(&kind).map(Listed::left).unwrap_or_default()
    }
}

/// What is said of a server's list at this moment. A server that is away may come back with another one any time.
pub(super) fn keeping(handle: &Handle, kind: ItemKind) -> Keeping {
    if handle.view.load().status == Status::Ready { handle.freshness.left(kind) } else { Keeping::default() }
}

/// Lists again what has become old, and waits for the end of that.
pub(super) async fn refresh(handle: &Handle, kind: ItemKind) {
    let mut listings = handle.freshness.listings.subscribe();
    if !handle.freshness.is_stale(kind) {
        return;
    }
    let Some(connection) = handle.state.borrow().connection.clone() else { return };
    connection.signals().mark_old(kind);
    while handle.freshness.is_stale(kind) && listings.changed().await.is_ok() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_is_kept_as_its_least_part() {
        let long = Keeping { ttl: Duration::from_secs(60), public: true };
        let short = Keeping { ttl: Duration::from_secs(5), public: true };
        assert_eq!(long.and(short), short);
        assert_eq!(long.and(Keeping::default()), Keeping::default());
    }

    #[test]
    fn a_list_gets_older_unless_it_is_followed() {
        let keeping = Keeping { ttl: Duration::from_secs(60), public: true };
        let at = Instant::now() - Duration::from_secs(50);
        let aged = Listed { keeping, at, followed: false };
        assert!(aged.left().ttl <= Duration::from_secs(10) && !aged.is_stale());
        assert_eq!(Listed { keeping, at, followed: true }.left(), keeping);
        let at = Instant::now() - Duration::from_secs(70);
        assert!(Listed { keeping, at, followed: false }.is_stale());
        assert!(!Listed { keeping, at, followed: true }.is_stale());
    }
}
