//! How long what a server listed may be kept, by its own word.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::backend::handle::server_handle::Handle;
use crate::model::{ItemKind, Status};

/// For how long something may be kept, and by whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheHint {
    pub ttl: Duration,
    /// Whether it is the same for everybody.
    pub public: bool,
}

impl CacheHint {
    /// What holds for a whole whose parts these are.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        CacheHint { ttl: self.ttl.min(other.ttl), public: self.public && other.public }
    }
}

#[derive(Debug)]
struct Listed {
    cache_hint: CacheHint,
    at: Instant,
    /// The server says when it changes, and is listed again then.
    followed: bool,
}

impl Listed {
    fn is_stale(&self) -> bool {
        !self.followed && !self.cache_hint.ttl.is_zero() && self.at.elapsed() >= self.cache_hint.ttl
    }

    /// What is left of it. A list that is followed is as good as new at any time.
    fn left(&self) -> CacheHint {
        let passed = if self.followed { Duration::ZERO } else { self.at.elapsed() };
        CacheHint { ttl: self.cache_hint.ttl.saturating_sub(passed), ..self.cache_hint }
    }
}

/// What one server said about each of its lists.
#[derive(Debug, Default)]
pub(crate) struct Freshness {
    lists: Mutex<HashMap<ItemKind, Listed>>,
    listings: watch::Sender<u64>,
}

impl Freshness {
    fn lock(&self) -> MutexGuard<'_, HashMap<ItemKind, Listed>> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A listing came to its end; without a word on it, or after a failure, nothing may be kept.
    pub(crate) fn listed(&self, kind: ItemKind, cache_hint: Option<CacheHint>, followed: bool) {
        match cache_hint {
            Some(cache_hint) => self.lock().insert(kind, Listed { cache_hint, at: Instant::now(), followed }),
            None => self.lock().remove(&kind),
        };
        self.listings.send_modify(|count| *count += 1);
    }

    fn is_stale(&self, kind: ItemKind) -> bool {
        self.lock().get(&kind).is_some_and(Listed::is_stale)
    }

    fn left(&self, kind: ItemKind) -> CacheHint {
        self.lock().get(&kind).map(Listed::left).unwrap_or_default()
    }
}

/// What is said of a server's list at this moment. A server that is away may come back with another one any time.
pub(crate) fn cache_hint(handle: &Handle, kind: ItemKind) -> CacheHint {
    if handle.view.load().status == Status::Ready { handle.freshness.left(kind) } else { CacheHint::default() }
}

/// Lists again what has become old, and waits for the end of that.
pub(crate) async fn refresh(handle: &Handle, kind: ItemKind) {
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
        let long = CacheHint { ttl: Duration::from_secs(60), public: true };
        let short = CacheHint { ttl: Duration::from_secs(5), public: true };
        assert_eq!(long.and(short), short);
        assert_eq!(long.and(CacheHint::default()), CacheHint::default());
    }

    #[test]
    fn a_list_gets_older_unless_it_is_followed() {
        let cache_hint = CacheHint { ttl: Duration::from_secs(60), public: true };
        let at = Instant::now() - Duration::from_secs(50);
        let aged = Listed { cache_hint, at, followed: false };
        assert!(aged.left().ttl <= Duration::from_secs(10) && !aged.is_stale());
        assert_eq!(Listed { cache_hint, at, followed: true }.left(), cache_hint);
        let at = Instant::now() - Duration::from_secs(70);
        assert!(Listed { cache_hint, at, followed: false }.is_stale());
        assert!(!Listed { cache_hint, at, followed: true }.is_stale());
    }
}
