//! How much a run has computed, and why it was stopped. The engine has limits of its own, but its final check would
//! replace an error that knows its line by one that does not; so it only counts, and the verdict is made here.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use super::{Host, Limits, Stop};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    Time,
    Steps,
    Memory,
    Stopped(Stop),
}

/// The engine asks whether to go on every so many steps.
const STEPS_PER_CHECK: u64 = 1000;

#[derive(Debug)]
pub struct Meter {
    started: Duration,
    waited: Cell<Duration>,
    checks: Cell<u64>,
    limits: Limits,
    why: Cell<Option<Why>>,
}

impl Meter {
    pub fn new(limits: &Limits) -> Self {
        Meter {
            started: computed(),
            waited: Cell::new(Duration::ZERO),
            checks: Cell::new(0),
            limits: limits.clone(),
            why: Cell::new(None),
        }
    }

    /// Runs something that waits for others; the time does not count.
    pub fn waiting<T>(&self, wait: impl FnOnce() -> T) -> T {
        let before = computed();
        let result = wait();
        self.waited.set(self.waited.get() + computed().saturating_sub(before));
        result
    }

    pub fn stop(&self, why: Why) {
        if self.why.get().is_none() {
            self.why.set(Some(why));
        }
    }

    pub fn why(&self) -> Option<Why> {
        self.why.get()
    }

    /// The engine also asks at the end of every function that a built-in calls; that is not a thousand steps.
    pub fn do_not_count_next_check(&self) {
        self.checks.set(self.checks.get().wrapping_sub(1));
    }

    /// Lets others on this thread go first, now and then; the time they take is not the run's own.
    fn give_way(&self) {
        let before = computed();
        if super::pool::give_way() {
            self.waited.set(self.waited.get() + computed().saturating_sub(before));
        }
    }

    /// Whether the run must end now. Said once: the error that follows must not be replaced by a second one.
    pub fn must_stop(&self, host: Option<&Arc<dyn Host>>, memory: usize) -> bool {
        self.checks.set(self.checks.get().wrapping_add(1));
        self.give_way();
        if self.why.get().is_some() {
            return false;
        }
        let steps = (self.checks.get() as i64).max(0) as u64 * STEPS_PER_CHECK;
        let why = if let Some(stop) = host.and_then(|host| host.stopped()) {
            Why::Stopped(stop)
        } else if steps > self.limits.steps {
            Why::Steps
        } else if memory > self.limits.memory {
            Why::Memory
        } else if computed().saturating_sub(self.started + self.waited.get()) > self.limits.time {
            Why::Time
        } else {
            return false;
        };
        self.why.set(Some(why));
        true
    }
}

/// What this thread has computed so far. A run stays on its thread, so on a busy machine it is not stopped for the time
/// that others took.
#[cfg(unix)]
fn computed() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs().try_into().unwrap_or(0))
}

#[cfg(not(unix))]
fn computed() -> Duration {
    static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed()
}
