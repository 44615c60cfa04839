//! Results that handlers remember for a while, always in this process. They can be made again, so where there is no room
//! some of them are simply forgotten.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::clock::{Clock, after};
use super::expiring_map::Shelf;

/// What all results may take together, in bytes.
const MOST: usize = 64 << 20;

/// By the number of who remembers, and the key.
type Results = Shelf<(u64, String), Arc<str>>;

pub struct Cache {
    clock: Clock,
    results: Mutex<Results>,
}

impl Cache {
    pub(super) fn new(clock: Clock) -> Self {
        Cache { clock, results: Mutex::default() }
    }

    /// A number for somebody who remembers: nobody finds the results of another.
    pub fn new_number() -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        NEXT.fetch_add(1, Ordering::Relaxed)
    }

    pub fn get(&self, number: u64, key: &str) -> Option<Arc<str>> {
        self.now().0.get(&(number, key.to_owned())).cloned()
    }

    pub fn put(&self, number: u64, key: &str, result: &str, ttl: Duration) {
        let weight = key.len() * 2 + result.len() + 200;
        if weight > MOST / 8 {
            return;
        }
        let (mut results, now) = self.now();
        results.put((number, key.to_owned()), result.into(), Some(after(now, ttl)), weight);
        while results.weight() > MOST {
            results.drop_next();
        }
    }

    fn now(&self) -> (MutexGuard<'_, Results>, u64) {
        let now = (self.clock)();
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        results.sweep(now, |_, _| {});
        (results, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_end_and_belong_to_one_number() {
        let time = Arc::new(AtomicU64::new(0));
        let clock = Arc::clone(&time);
        let cache = Cache::new(Arc::new(move || clock.load(Ordering::Relaxed)));
        let (one, other) = (Cache::new_number(), Cache::new_number());
        cache.put(one, "k", "1", Duration::from_secs(1));
        assert_eq!(cache.get(one, "k").as_deref(), Some("1"));
        assert_eq!(cache.get(other, "k"), None);
        time.store(1_000_000, Ordering::Relaxed);
        assert_eq!(cache.get(one, "k"), None);
    }

    #[test]
    fn where_there_is_no_room_what_ends_first_goes() {
        let cache = Cache::new(Arc::new(|| 0));
        let large = "x".repeat(1 << 20);
        for number in 0..100 {
            cache.put(1, &number.to_string(), &large, Duration::from_secs(100 + number));
        }
        assert_eq!(cache.get(1, "0"), None);
        assert!(cache.get(1, "99").is_some());
        cache.put(1, "larger than it is good for all", &"x".repeat(10 << 20), Duration::from_secs(1));
        assert_eq!(cache.get(1, "larger than it is good for all"), None);
    }
}
