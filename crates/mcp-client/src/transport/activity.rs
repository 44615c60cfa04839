//! Measures how long a request has been silent, for its timeouts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use crate::call::TimeLimit;

/// How often a paused request is checked. The idle timeout starts anew after a pause, so a coarse interval suffices.
const PAUSE_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// When a request last made progress. The clock stops while the server waits for the client's answer to a question.
#[derive(Debug)]
pub(crate) struct Activity {
    started: Instant,
    clock: Mutex<ActivityClock>,
}

/// All times are relative to the start of the request.
#[derive(Debug, Default)]
struct ActivityClock {
    last_progress: Duration,
    open_questions: usize,
    /// When the first of the open questions was asked.
    paused_at: Duration,
    /// How long questions were open in total.
    paused_total: Duration,
}

impl Activity {
    /// The activity of a request whose time has been running since `started`.
    pub(crate) fn since(started: Instant) -> Arc<Self> {
        Arc::new(Activity { started, clock: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, ActivityClock> {
        self.clock.lock()
    }

    /// Restarts the idle timeout.
    pub(crate) fn record_progress(&self) {
        self.lock().last_progress = self.started.elapsed();
    }

    /// Stops the clock until the returned guard is dropped.
    pub(crate) fn pause(self: &Arc<Self>) -> ActivityPause {
        let mut clock = self.lock();
        clock.open_questions += 1;
        if clock.open_questions == 1 {
            clock.paused_at = self.started.elapsed();
        }
        ActivityPause(Arc::clone(self))
    }

    /// When the request times out, and by which limit. `None` while the clock is stopped.
    fn deadline(&self, idle: Duration, total: Duration) -> Option<(Instant, TimeLimit)> {
        let clock = self.lock();
        if clock.open_questions > 0 {
            return None;
        }
        let (idle_end, total_end) = (clock.last_progress + idle, total + clock.paused_total);
        let (end, limit) =
            if idle_end < total_end { (idle_end, TimeLimit::Idle) } else { (total_end, TimeLimit::Total) };
        Some((self.started + end, limit))
    }

    /// Completes when there was no progress for `idle`, or when the request has taken `total`. Returns the time since the
    /// start of the request, and the limit that was reached.
    pub(crate) async fn timed_out(&self, idle: Duration, total: Duration) -> (Duration, TimeLimit) {
        let mut awaited = None;
        loop {
            match self.deadline(idle, total) {
                Some((deadline, limit)) if awaited == Some(deadline) => return (self.started.elapsed(), limit),
                Some((deadline, _)) => {
                    tokio::time::sleep_until(deadline.into()).await;
                    awaited = Some(deadline);
                }
                None => tokio::time::sleep(idle.min(PAUSE_CHECK_INTERVAL)).await,
            }
        }
    }
}

/// Keeps the clock of an [`Activity`] stopped until dropped.
#[derive(Debug)]
pub(crate) struct ActivityPause(Arc<Activity>);

impl Drop for ActivityPause {
    fn drop(&mut self) {
        let now = self.0.started.elapsed();
        let mut clock = self.0.lock();
        clock.open_questions -= 1;
        if clock.open_questions == 0 {
            let paused = now.saturating_sub(clock.paused_at);
            clock.paused_total += paused;
            clock.last_progress = now;
        }
    }
}
