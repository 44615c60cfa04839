//! What a backtest replaces around a handler: the clock shows recorded time, and the log is discarded.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value};

use proxy_base::diagnostic::Location;
use proxy_engine::calls::TestOverrides;
use proxy_json::{Raw, RawRef};
use proxy_script::LogLevel;
use proxy_store::Store;

/// The clock of a recording: it shows when the call began that runs.
#[derive(Clone, Debug)]
pub(super) struct RecordedClock {
    start: SystemTime,
    /// Microseconds since the start.
    elapsed: Arc<AtomicU64>,
}

impl RecordedClock {
    pub(super) fn new(start: SystemTime) -> Self {
        RecordedClock { start, elapsed: Arc::default() }
    }

    /// Never goes back.
    pub(super) fn set(&self, at: SystemTime) {
        let elapsed = at.duration_since(self.start).unwrap_or_default();
        self.elapsed.fetch_max(u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX), Ordering::SeqCst);
    }

    /// An empty store with this clock.
    pub(super) fn store(&self) -> Store {
        let elapsed = Arc::clone(&self.elapsed);
        Store::memory_with(Arc::new(move || elapsed.load(Ordering::SeqCst)))
    }
}

impl TestOverrides for RecordedClock {
    fn now(&self) -> SystemTime {
        self.start + Duration::from_micros(self.elapsed.load(Ordering::SeqCst))
    }

    fn log(&self, _: LogLevel, _: &str, _: &Map<String, Value>) {}

    fn print(&self, _: &str) -> bool {
        true
    }

    /// Nothing is waited for.
    fn mock(&self, kind: &str, _: &RawRef, _: Option<Location>) -> Option<Result<Raw, String>> {
        matches!(kind, "sleep" | "time.sleep").then(|| Ok(RawRef::NULL.to_owned()))
    }
}
