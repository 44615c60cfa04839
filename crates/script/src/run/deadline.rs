//! Ends a script's calls and waits at a deadline.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use crate::host::{CallOptions, Effects, Stop};

/// Effectively infinite; replaces deadlines that overflow the clock.
const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// The deadline of something that begins now.
pub(super) fn after(limit: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(limit).unwrap_or(now + CENTURY)
}

/// The options of a call that ends at a deadline.
pub(super) fn call_until(deadline: Instant, options: CallOptions) -> CallOptions {
    let left = deadline.saturating_duration_since(Instant::now());
    // Whole milliseconds, because error messages show the timeout.
    let left = Duration::from_millis(left.as_micros().div_ceil(1000).try_into().unwrap_or(u64::MAX).max(1));
    let timeout = Some(options.timeout.map_or(left, |timeout| timeout.min(left)));
    CallOptions { timeout, ..options }
}

/// Waits for a future, but not longer than for the other one.
pub(super) fn wait_until(
    over: impl Future<Output = ()>,
    effects: &dyn Effects,
    future: Pin<&mut (dyn Future<Output = ()> + '_)>,
) -> Result<(), Stop> {
    let mut is_late = false;
    {
        let bounded = async {
            tokio::select! {
                biased;
                () = future => {}
                () = over => is_late = true,
            }
        };
        effects.wait(std::pin::pin!(bounded))?;
    }
    if is_late { Err(Stop::Deadline) } else { Ok(()) }
}
