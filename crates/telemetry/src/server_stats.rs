//! The calls of each server: in total, within the last minute, and how long they took.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::operations::{OTHER, OperationStats};
use proxy_model::CallOutcome;

/// The number of calls, and how many of them failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub calls: u64,
    pub failures: u64,
}

/// The methods that are counted individually; the last entry counts all others.
const METHODS: [&str; 5] = ["tools/call", "resources/read", "prompts/get", "completion/complete", OTHER];

/// The number of slots in the ring buffer, one per second.
const MINUTE: usize = 60;

/// The calls of one server since the proxy started.
#[derive(Debug)]
pub struct ServerStats {
    started: Instant,
    calls: RecentCount,
    failures: RecentCount,
    by_method: [OperationStats; METHODS.len()],
}

impl Default for ServerStats {
    fn default() -> Self {
        ServerStats {
            started: Instant::now(),
            calls: RecentCount::default(),
            failures: RecentCount::default(),
            by_method: Default::default(),
        }
    }
}

impl ServerStats {
    /// Counts a call that ended at this moment. The caller has already read the clock for the duration; reading it again
    /// would cost a tenth of all counting.
    pub fn record(&self, method: &str, ended: Instant, duration: Duration, outcome: &CallOutcome) {
        let now = self.second(ended);
        self.calls.add(now);
        // Neither an error response nor a cancellation is a failure of the server.
        if matches!(outcome, CallOutcome::Timeout { .. } | CallOutcome::Failed { .. }) {
            self.failures.add(now);
        }
        let index = METHODS.iter().position(|known| *known == method).unwrap_or(METHODS.len() - 1);
        self.by_method[index].record(duration, outcome.error_type());
    }

    pub fn all(&self) -> Counts {
        Counts { calls: self.calls.all.load(Relaxed), failures: self.failures.all.load(Relaxed) }
    }

    pub fn last_minute(&self) -> Counts {
        let now = self.second(Instant::now());
        Counts { calls: self.calls.last_minute(now), failures: self.failures.last_minute(now) }
    }

    /// The durations by method.
    pub fn by_method(&self) -> impl Iterator<Item = (&'static str, &OperationStats)> {
        METHODS.into_iter().zip(&self.by_method)
    }

    fn second(&self, now: Instant) -> u32 {
        u32::try_from(now.saturating_duration_since(self.started).as_secs()).unwrap_or(u32::MAX)
    }
}

/// A count in total and for each of the last seconds.
#[derive(Debug)]
struct RecentCount {
    all: AtomicU64,
    /// A ring buffer: the second in the upper half, its count in the lower. A new second overwrites the slot of the second
    /// one minute before.
    seconds: [AtomicU64; MINUTE],
}

impl Default for RecentCount {
    fn default() -> Self {
        RecentCount { all: AtomicU64::new(0), seconds: [const { AtomicU64::new(0) }; MINUTE] }
    }
}

impl RecentCount {
    fn add(&self, now: u32) {
        self.all.fetch_add(1, Relaxed);
        let next = |slot: u64| match slot >> 32 == u64::from(now) {
            true => Some(slot + 1),
            false => Some(u64::from(now) << 32 | 1),
        };
        // Never fails: `next` always has a value.
        let _ = self.seconds[now as usize % MINUTE].fetch_update(Relaxed, Relaxed, next);
    }

    fn last_minute(&self, now: u32) -> u64 {
        let slots = self.seconds.iter().map(|slot| slot.load(Relaxed));
        let recent = slots.filter(|slot| u64::from(now).saturating_sub(slot >> 32) < MINUTE as u64);
        recent.map(|slot| slot & u64::from(u32::MAX)).sum()
    }
}

/// The statistics of all servers by name. A server that is removed and added again continues its counts.
#[derive(Debug, Default)]
pub(super) struct StatsByServer(Mutex<HashMap<Arc<str>, Arc<ServerStats>>>);

impl StatsByServer {
    pub(super) fn of(&self, server: &Arc<str>) -> Arc<ServerStats> {
        let mut stats = self.0.lock();
        Arc::clone(stats.entry(Arc::clone(server)).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_minute_is_what_happened_in_it() {
        let count = RecentCount::default();
        for second in [0, 0, 30, 59] {
            count.add(second);
        }
        assert_eq!(count.last_minute(59), 4);
        assert_eq!(count.last_minute(60), 2, "the first second is over");
        count.add(60);
        assert_eq!(count.last_minute(60), 3);
        assert_eq!(count.last_minute(1000), 0);
        assert_eq!(count.all.load(Relaxed), 5);
    }

    #[test]
    fn an_error_response_is_no_failure_of_the_server() {
        let stats = ServerStats::default();
        let message = String::new;
        let outcomes = [
            CallOutcome::Ok,
            CallOutcome::ToolError,
            CallOutcome::Error { code: -32602, message: message() },
            CallOutcome::Cancelled,
            CallOutcome::Timeout { message: message() },
            CallOutcome::Failed { message: message() },
        ];
        for outcome in &outcomes {
            stats.record("tools/call", Instant::now(), Duration::ZERO, outcome);
        }
        assert_eq!(stats.all(), Counts { calls: 6, failures: 2 });
        assert_eq!(stats.last_minute(), stats.all());
    }
}
