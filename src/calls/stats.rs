//! Call statistics of each backend: calls and failures, in total and within the last minute.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use crate::backend::{Answer, CallError};

/// The number of calls, and how many of them failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub calls: u64,
    pub failures: u64,
}

impl Counts {
    fn add(&mut self, other: Counts) {
        self.calls += other.calls;
        self.failures += other.failures;
    }
}

/// The calls of one backend since the proxy started.
#[derive(Debug)]
pub struct CallStats {
    started: Instant,
    counters: Mutex<Counters>,
}

/// The number of slots in the ring buffer, one per second.
const MINUTE: usize = 60;

#[derive(Debug)]
struct Counters {
    all: Counts,
    /// A ring buffer by second: a new second overwrites the slot of the second one minute before.
    seconds: [(u64, Counts); MINUTE],
}

impl Default for CallStats {
    fn default() -> Self {
        let counters = Counters { all: Counts::default(), seconds: [(0, Counts::default()); MINUTE] };
        CallStats { started: Instant::now(), counters: Mutex::new(counters) }
    }
}

impl CallStats {
    pub(super) fn record(&self, outcome: &Result<Answer, CallError>) {
        // Neither a JSON-RPC error response nor a cancellation is a failure of the backend.
        let failed = !matches!(outcome, Ok(_) | Err(CallError::Rpc(_) | CallError::Cancelled));
        self.lock().record(failed, self.started.elapsed().as_secs());
    }

    pub fn all(&self) -> Counts {
        self.lock().all
    }

    pub fn last_minute(&self) -> Counts {
        self.lock().last_minute(self.started.elapsed().as_secs())
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, Counters> {
        self.counters.lock()
    }
}

impl Counters {
    fn record(&mut self, failed: bool, now: u64) {
        let one = Counts { calls: 1, failures: u64::from(failed) };
        self.all.add(one);
        let (second, counts) = &mut self.seconds[slot(now)];
        if *second != now {
            (*second, *counts) = (now, Counts::default());
        }
        counts.add(one);
    }

    fn last_minute(&self, now: u64) -> Counts {
        let mut sum = Counts::default();
        let recent = self.seconds.iter().filter(|(second, _)| now - second.min(&now) < MINUTE as u64);
        recent.for_each(|(_, counts)| sum.add(*counts));
        sum
    }
}

fn slot(second: u64) -> usize {
    usize::try_from(second % MINUTE as u64).unwrap_or_default()
}

/// The statistics of all backends by name. A backend that is removed and added again continues its counts.
#[derive(Debug, Default)]
pub(super) struct StatsByBackend(Mutex<HashMap<Arc<str>, Arc<CallStats>>>);

impl StatsByBackend {
    pub(super) fn of(&self, backend: &Arc<str>) -> Arc<CallStats> {
        let mut stats = self.0.lock();
        Arc::clone(stats.entry(Arc::clone(backend)).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_minute_is_what_happened_in_it() {
        let stats = CallStats::default();
        let mut counters = stats.lock();
        for (second, failed) in [(0, false), (0, true), (30, false), (59, true)] {
            counters.record(failed, second);
        }
        let counts = |calls, failures| Counts { calls, failures };
        assert_eq!(counters.last_minute(59), counts(4, 2));
        assert_eq!(counters.last_minute(60), counts(2, 1), "the first second is over");
        counters.record(false, 60);
        assert_eq!(counters.last_minute(60), counts(3, 1));
        assert_eq!(counters.last_minute(1000), counts(0, 0));
        assert_eq!(counters.all, counts(5, 2));
    }
}
