//! Tracks how old the lists of a server are, compared to the TTL that the server declared.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use crate::call::CacheHint;
use crate::transport::Signals;
use proxy_model::ItemKind;

#[derive(Debug)]
struct ListAge {
    cache_hint: CacheHint,
    listed_at: Instant,
    /// Whether the server announces changes. The list is then always up to date.
    announced: bool,
}

impl ListAge {
    fn is_stale(&self) -> bool {
        !self.announced && !self.cache_hint.ttl.is_zero() && self.listed_at.elapsed() >= self.cache_hint.ttl
    }

    fn remaining(&self) -> CacheHint {
        let age = if self.announced { Duration::ZERO } else { self.listed_at.elapsed() };
        CacheHint { ttl: self.cache_hint.ttl.saturating_sub(age), ..self.cache_hint }
    }
}

/// The age of each of a server's lists.
#[derive(Debug, Default)]
pub(crate) struct Freshness {
    lists: Mutex<HashMap<ItemKind, ListAge>>,
    listings: watch::Sender<u64>,
}

impl Freshness {
    fn lock(&self) -> MutexGuard<'_, HashMap<ItemKind, ListAge>> {
        self.lists.lock()
    }

    /// Records a listing. Without a hint, or after a failure, the list must not be cached.
    pub(crate) fn record_listing(&self, kind: ItemKind, cache_hint: Option<CacheHint>, announced: bool) {
        match cache_hint {
            Some(cache_hint) => self.lock().insert(kind, ListAge { cache_hint, listed_at: Instant::now(), announced }),
            None => self.lock().remove(&kind),
        };
        self.listings.send_modify(|count| *count += 1);
    }

    /// Changes with every listing.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.listings.subscribe()
    }

    /// Waits for a new list if the server has announced a change. If the TTL has passed, also asks the task that follows
    /// these signals to list again, and waits for the result.
    pub(crate) async fn refresh(&self, kind: ItemKind, signals: &Signals) {
        signals.relisted(kind).await;
        let mut listings = self.listings.subscribe();
        if !self.is_stale(kind) {
            return;
        }
        signals.mark_stale(kind);
        while self.is_stale(kind) && listings.changed().await.is_ok() {}
    }

    fn is_stale(&self, kind: ItemKind) -> bool {
        self.lock().get(&kind).is_some_and(ListAge::is_stale)
    }

    /// The cache hint of a list with what remains of its TTL.
    pub(crate) fn remaining(&self, kind: ItemKind) -> CacheHint {
        self.lock().get(&kind).map(ListAge::remaining).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_ages_unless_the_server_announces_changes() {
        let cache_hint = CacheHint { ttl: Duration::from_secs(60), public: true };
        let listed_at = Instant::now() - Duration::from_secs(50);
        let aged = ListAge { cache_hint, listed_at, announced: false };
        assert!(aged.remaining().ttl <= Duration::from_secs(10) && !aged.is_stale());
        assert_eq!(ListAge { cache_hint, listed_at, announced: true }.remaining(), cache_hint);
        let listed_at = Instant::now() - Duration::from_secs(70);
        assert!(ListAge { cache_hint, listed_at, announced: false }.is_stale());
        assert!(!ListAge { cache_hint, listed_at, announced: true }.is_stale());
    }
}
