//! Cached results of handlers, always in the memory of this process. They can be computed again, so results are evicted
//! when the cache is full.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use super::clock::{StoreClock, after};
use super::expiring_map::ExpiringMap;
use proxy_model::flow::Labels;

/// Maximum total size of all results, in bytes.
const MAX_BYTES: usize = 64 << 20;

/// Approximate size of an entry beside its key and result, in bytes.
const ENTRY_OVERHEAD: usize = 200;

/// Results by cache number and key.
type Results = ExpiringMap<(u64, String), CachedResult>;

/// A result, and the labels of what the call that made it had read.
#[derive(Clone, Debug)]
pub struct CachedResult {
    pub text: Arc<str>,
    pub labels: Labels,
}

pub struct StoredResults {
    clock: StoreClock,
    results: Mutex<Results>,
}

impl StoredResults {
    pub(super) fn new(clock: StoreClock) -> Self {
        StoredResults { clock, results: Mutex::default() }
    }

    /// A number for a user of the cache. Users with different numbers do not see each other's results.
    pub fn new_number() -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        NEXT.fetch_add(1, Ordering::Relaxed)
    }

    pub fn get(&self, number: u64, key: &str) -> Option<CachedResult> {
        let (results, _) = self.unexpired();
        results.get(&(number, key.to_owned())).cloned()
    }

    pub fn put(&self, number: u64, key: &str, result: CachedResult, ttl: Duration) {
        let weight = key.len() * 2 + result.text.len() + ENTRY_OVERHEAD;
        if weight > MAX_BYTES / 8 {
            return;
        }
        let (mut results, now) = self.unexpired();
        results.put((number, key.to_owned()), result, Some(after(now, ttl)), weight);
        while results.weight() > MAX_BYTES {
            results.evict_next();
        }
    }

    /// The results that have not expired, and the present time.
    fn unexpired(&self) -> (MutexGuard<'_, Results>, u64) {
        let now = (self.clock)();
        let mut results = self.results.lock();
        results.sweep(now, |_, _| {});
        (results, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(text: &str) -> CachedResult {
        CachedResult { text: text.into(), labels: Labels::default() }
    }

    #[test]
    fn results_end_and_belong_to_one_number() {
        let time = Arc::new(AtomicU64::new(0));
        let clock = Arc::clone(&time);
        let cache = StoredResults::new(Arc::new(move || clock.load(Ordering::Relaxed)));
        let (one, other) = (StoredResults::new_number(), StoredResults::new_number());
        cache.put(one, "k", result("1"), Duration::from_secs(1));
        assert_eq!(cache.get(one, "k").map(|found| found.text).as_deref(), Some("1"));
        assert!(cache.get(other, "k").is_none());
        time.store(1_000_000, Ordering::Relaxed);
        assert!(cache.get(one, "k").is_none());
    }

    #[test]
    fn a_full_cache_evicts_what_expires_first() {
        let cache = StoredResults::new(Arc::new(|| 0));
        let large = "x".repeat(1 << 20);
        for number in 0..100 {
            cache.put(1, &number.to_string(), result(&large), Duration::from_secs(100 + number));
        }
        assert!(cache.get(1, "0").is_none());
        assert!(cache.get(1, "99").is_some());
        cache.put(1, "larger than it is good for all", result(&"x".repeat(10 << 20)), Duration::from_secs(1));
        assert!(cache.get(1, "larger than it is good for all").is_none());
    }
}
