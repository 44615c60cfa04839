//! How long a run has computed, and why it was stopped: the engine itself only knows that it was.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Host, Limits, Stop};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Its own computing time is used up.
    Time,
    Stopped(Stop),
}

#[derive(Debug)]
pub struct Meter {
    started: Instant,
    waited: Cell<Duration>,
    allowed: Duration,
    why: Cell<Option<Why>>,
}

impl Meter {
    pub fn new(limits: &Limits) -> Self {
        Meter {
            started: Instant::now(),
            waited: Cell::new(Duration::ZERO),
            allowed: limits.time,
            why: Cell::new(None),
        }
    }

    /// Runs something that waits for others; the time does not count.
    pub fn waiting<T>(&self, wait: impl FnOnce() -> T) -> T {
        let before = Instant::now();
        let result = wait();
        self.waited.set(self.waited.get() + before.elapsed());
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

    /// Whether the run must end now.
    pub fn must_stop(&self, host: Option<&Arc<dyn Host>>) -> bool {
        if let Some(stop) = host.and_then(|host| host.stopped()) {
            self.stop(Why::Stopped(stop));
        } else if self.started.elapsed().saturating_sub(self.waited.get()) > self.allowed {
            self.stop(Why::Time);
        }
        self.why.get().is_some()
    }
}
