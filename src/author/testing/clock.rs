//! The clock of a test: it stands still until the test moves it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

#[derive(Clone, Debug)]
pub(super) struct TestClock {
    start: SystemTime,
    /// Microseconds since the start.
    moved: Arc<AtomicU64>,
}

impl TestClock {
    pub(super) fn new() -> Self {
        TestClock { start: SystemTime::now(), moved: Arc::default() }
    }

    pub(super) fn now(&self) -> SystemTime {
        self.start + Duration::from_micros(self.micros())
    }

    pub(super) fn micros(&self) -> u64 {
        self.moved.load(Ordering::SeqCst)
    }

    pub(super) fn advance(&self, by: Duration) {
        let by = u64::try_from(by.as_micros()).unwrap_or(u64::MAX);
        // A clock that ran over would go back.
        let _ = self.moved.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |now| Some(now.saturating_add(by)));
    }
}
