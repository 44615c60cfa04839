//! How much a run has computed, and why it was stopped. The engine has limits of its own, but its final check would
//! replace an error that knows its line by one that does not; so it only counts, and the verdict is made here.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Host, Limits, Stop};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    Time,
    Steps,
    Memory,
    /// It did more before a question than can be kept.
    Journal,
    /// Run again after a question, it took another way.
    Diverged,
    /// It came to itself again on its way, and would for ever.
    Endless,
    Stopped(Stop),
}

/// The engine asks whether to go on every so many steps.
const STEPS_PER_CHECK: u64 = 1000;

/// Of one line of control.
#[derive(Debug)]
pub(super) struct Meter {
    run: Rc<Run>,
    /// Beside others of the same run: the time of all of them is the run's own, and is counted where they are run.
    in_branch: bool,
    /// It waits for an answer; others of the run may go on.
    asked: Cell<bool>,
    /// An error has said that the run must end.
    said: Cell<bool>,
    /// When a part of the run must end that this line of control is in.
    part: Option<Rc<Part>>,
}

/// A part of a run that has a deadline of its own: the run goes on without it.
#[derive(Debug)]
struct Part {
    until: Instant,
    is_late: Cell<bool>,
}

/// What all lines of control of a run share.
#[derive(Debug)]
struct Run {
    /// When the time began to be measured: most handlers never compute for so long that it matters, and the clock is
    /// a call of the system.
    started: Cell<Option<Duration>>,
    waited: Cell<Duration>,
    checks: Cell<u64>,
    limits: Limits,
    /// Why all of it must end.
    ended: Cell<Option<StopReason>>,
}

impl Meter {
    pub(super) fn new(limits: &Limits) -> Self {
        let run = Run {
            started: Cell::new(None),
            waited: Cell::new(Duration::ZERO),
            checks: Cell::new(0),
            limits: limits.clone(),
            ended: Cell::new(None),
        };
        Meter { run: Rc::new(run), in_branch: false, asked: Cell::new(false), said: Cell::new(false), part: None }
    }

    /// For a line of control that runs beside others of the same run.
    pub(super) fn branch(&self) -> Self {
        Meter { in_branch: true, ..self.fresh(self.part.clone()) }
    }

    /// For a part of the same run, on this line of control, that must end by then.
    pub(super) fn part(&self, until: Instant) -> Self {
        self.fresh(Some(Rc::new(Part { until, is_late: Cell::new(false) })))
    }

    fn fresh(&self, part: Option<Rc<Part>>) -> Self {
        let run = Rc::clone(&self.run);
        Meter { run, in_branch: self.in_branch, asked: Cell::new(false), said: Cell::new(false), part }
    }

    /// Whether the part that this is of was not done in time.
    pub(super) fn is_late(&self) -> bool {
        self.part.as_ref().is_some_and(|part| part.is_late.get())
    }

    /// Whether somebody has to answer before this line of control can go on.
    pub(super) fn has_asked(&self) -> bool {
        self.asked.get()
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.run.limits
    }

    /// Runs something that waits for others; the time does not count.
    pub(super) fn waiting<T>(&self, wait: impl FnOnce() -> T) -> T {
        let left = self.leave();
        let result = wait();
        self.come_back(left);
        result
    }

    /// From now on the time is not the run's own, until it comes back.
    pub(super) fn leave(&self) -> Option<Duration> {
        (!self.in_branch && self.run.started.get().is_some()).then(computed)
    }

    pub(super) fn come_back(&self, left: Option<Duration>) {
        if let Some(left) = left {
            self.run.waited.set(self.run.waited.get() + computed().saturating_sub(left));
        }
    }

    pub(super) fn stop(&self, why: StopReason) {
        self.said.set(true);
        if why == StopReason::Stopped(Stop::Input) {
            self.asked.set(true);
        } else if let (StopReason::Stopped(Stop::Deadline), Some(part)) = (why, &self.part) {
            part.is_late.set(true);
        } else if self.run.ended.get().is_none() {
            self.run.ended.set(Some(why));
        }
    }

    /// Why this line of control must end.
    pub(super) fn why(&self) -> Option<StopReason> {
        self.ended().or_else(|| self.asked.get().then_some(StopReason::Stopped(Stop::Input)))
    }

    /// Why the whole run must end, or the part of it that this is in.
    pub(super) fn ended(&self) -> Option<StopReason> {
        self.run.ended.get().or_else(|| self.is_late().then_some(StopReason::Stopped(Stop::Deadline)))
    }

    /// The engine also asks at the end of every function that a built-in calls; that is not a thousand steps.
    pub(super) fn do_not_count_next_check(&self) {
        self.run.checks.set(self.run.checks.get().wrapping_sub(1));
    }

    /// Lets others on this thread go first, now and then; the time they take is not the run's own.
    fn give_way(&self) {
        if crate::fiber::is_over_slice() {
            self.waiting(crate::fiber::give_way);
        }
    }

    /// Whether the run must end now. Said once: the error that follows must not be replaced by a second one.
    pub(super) fn must_stop(&self, host: Option<&Arc<dyn Host>>, memory: usize) -> bool {
        let run = &self.run;
        run.checks.set(run.checks.get().wrapping_add(1));
        self.give_way();
        if self.asked.get() {
            return false;
        }
        if run.ended.get().is_none() {
            run.ended.set(self.verdict(host, memory));
        }
        if let Some(part) = self.part.as_ref().filter(|part| Instant::now() >= part.until) {
            part.is_late.set(true);
        }
        self.ended().is_some() && !self.said.replace(true)
    }

    fn verdict(&self, host: Option<&Arc<dyn Host>>, memory: usize) -> Option<StopReason> {
        let run = &self.run;
        let steps = (run.checks.get() as i64).max(0) as u64 * STEPS_PER_CHECK;
        if let Some(stop) = host.and_then(|host| host.stopped()) {
            Some(StopReason::Stopped(stop))
        } else if steps > run.limits.steps {
            Some(StopReason::Steps)
        } else if memory > run.limits.memory {
            Some(StopReason::Memory)
        } else if steps > 0 && self.computed() > run.limits.time {
            Some(StopReason::Time)
        } else {
            None
        }
    }

    /// How long this run has computed, since it was first asked.
    fn computed(&self) -> Duration {
        let (run, now) = (&self.run, computed());
        match run.started.get() {
            Some(started) => now.saturating_sub(started + run.waited.get()),
            None => {
                run.started.set(Some(now));
                Duration::ZERO
            }
        }
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
