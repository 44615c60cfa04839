//! The clock of a test. It moves only when the test advances it or a script sleeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

#[derive(Clone, Debug)]
pub(crate) struct TestClock {
    start: SystemTime,
    /// Microseconds by which the clock was advanced.
    elapsed: Arc<AtomicU64>,
}

impl TestClock {
    pub(crate) fn new() -> Self {
        TestClock { start: SystemTime::now(), elapsed: Arc::default() }
    }

    pub(crate) fn now(&self) -> SystemTime {
        self.start + Duration::from_micros(self.micros())
    }

    pub(crate) fn micros(&self) -> u64 {
        self.elapsed.load(Ordering::SeqCst)
    }

    pub(crate) fn advance(&self, by: Duration) {
        let by = u64::try_from(by.as_micros()).unwrap_or(u64::MAX);
        // Saturate: an overflow would set the clock back.
        let _ = self.elapsed.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |now| Some(now.saturating_add(by)));
    }
}
