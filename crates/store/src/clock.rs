//! The clock of the store in memory.

use std::sync::Arc;
use std::time::{Duration, Instant};

/// Microseconds since some moment, never decreasing.
pub(super) type StoreClock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// The monotonic clock of the machine.
pub(super) fn clock() -> StoreClock {
    let start = Instant::now();
    Arc::new(move || micros(start.elapsed()))
}

pub(super) fn after(now: u64, ttl: Duration) -> u64 {
    now.saturating_add(micros(ttl))
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
