//! Measures a run against its limits, and remembers why it was stopped. The engine has limits of its own, but its final
//! check would replace an error that has a line by one without; so the engine only counts, and the decision is made here.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::limits::Limits;
use crate::{Host, Stop};
use proxy_base::memory;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    Time,
    Steps,
    Memory,
    /// The journal became too large to be stored.
    JournalFull,
    /// The run had other effects than the run that was recorded before a question.
    Diverged,
    /// Something called itself that must not.
    Recursion,
    /// The host stopped the run.
    Stopped(Stop),
}

/// The engine asks whether to continue once per this many steps.
const STEPS_PER_CHECK: u64 = 1000;

/// The meter of one branch of a run.
#[derive(Debug)]
pub(super) struct Meter {
    run: Rc<RunTotals>,
    /// One of several concurrent branches. Their waiting time is measured by the branch that started them.
    in_branch: bool,
    /// This branch has asked a question and is stopped. Other branches of the run may continue.
    asked: Cell<bool>,
    /// An error that ends this branch has been raised.
    raised: Cell<bool>,
    /// The section with a deadline that this branch is in.
    section: Option<Rc<TimedSection>>,
}

/// A section of a run with a deadline of its own; the run continues after it.
#[derive(Debug)]
struct TimedSection {
    deadline: Instant,
    is_late: Cell<bool>,
}

/// What all branches of a run share.
#[derive(Debug)]
struct RunTotals {
    /// The CPU time of the thread when measuring began: at the first check, because most handlers end before it, and
    /// reading the clock is a system call.
    started: Cell<Option<Duration>>,
    waited: Cell<Duration>,
    checks: Cell<u64>,
    /// Bytes that the run has allocated or taken over, and not freed. Never negative: where a run frees what others
    /// allocated, counting begins again at zero.
    allocated: Cell<isize>,
    limits: Limits,
    /// Why the whole run must end.
    ended: Cell<Option<StopReason>>,
}

impl Meter {
    pub(super) fn new(limits: &Limits) -> Self {
        // What came before this run is not its own.
        memory::take();
        let run = RunTotals {
            started: Cell::new(None),
            waited: Cell::new(Duration::ZERO),
            checks: Cell::new(0),
            allocated: Cell::new(0),
            limits: limits.clone(),
            ended: Cell::new(None),
        };
        Meter { run: Rc::new(run), in_branch: false, asked: Cell::new(false), raised: Cell::new(false), section: None }
    }

    /// The meter of a concurrent branch of this run.
    pub(super) fn branch(&self) -> Self {
        Meter { in_branch: true, ..self.fresh(self.section.clone()) }
    }

    /// The meter of a section of this branch that has a deadline.
    pub(super) fn timed(&self, deadline: Instant) -> Self {
        self.fresh(Some(Rc::new(TimedSection { deadline, is_late: Cell::new(false) })))
    }

    fn fresh(&self, section: Option<Rc<TimedSection>>) -> Self {
        let run = Rc::clone(&self.run);
        Meter { run, in_branch: self.in_branch, asked: Cell::new(false), raised: Cell::new(false), section }
    }

    /// Whether the section that this branch is in has exceeded its deadline.
    pub(super) fn is_late(&self) -> bool {
        self.section.as_ref().is_some_and(|section| section.is_late.get())
    }

    /// Whether this branch has asked a question that is not answered yet.
    pub(super) fn has_asked(&self) -> bool {
        self.asked.get()
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.run.limits
    }

    /// Runs something that blocks. The time does not count as computing time.
    pub(super) fn waiting<T>(&self, wait: impl FnOnce() -> T) -> T {
        let paused = self.pause();
        let result = self.outside(wait);
        self.resume(paused);
        result
    }

    /// Runs work on behalf of this run whose allocations belong to others and do not count as the run's memory.
    pub(super) fn outside<T>(&self, act: impl FnOnce() -> T) -> T {
        self.allocated();
        let result = act();
        memory::take();
        result
    }

    /// Counts memory that others allocated and that this run frees.
    pub(super) fn take_over(&self, bytes: usize) {
        let allocated = self.run.allocated.get().saturating_add_unsigned(bytes);
        self.run.allocated.set(allocated);
    }

    /// The bytes that all branches of the run have allocated, as far as they have asked.
    pub(super) fn allocated(&self) -> usize {
        let allocated = self.run.allocated.get().saturating_add(memory::take()).max(0);
        self.run.allocated.set(allocated);
        allocated.unsigned_abs()
    }

    /// Whether this many bytes more fit into the memory of the run.
    #[inline]
    pub(super) fn has_room_for(&self, bytes: usize) -> bool {
        self.allocated().saturating_add(bytes) <= self.run.limits.memory
    }

    /// Stops measuring computing time. Pass the result to [`Meter::resume`].
    pub(super) fn pause(&self) -> Option<Duration> {
        (!self.in_branch && self.run.started.get().is_some()).then(cpu_time)
    }

    pub(super) fn resume(&self, paused: Option<Duration>) {
        if let Some(paused) = paused {
            self.run.waited.set(self.run.waited.get() + cpu_time().saturating_sub(paused));
        }
    }

    pub(super) fn stop(&self, reason: StopReason) {
        self.raised.set(true);
        if reason == StopReason::Stopped(Stop::Input) {
            self.asked.set(true);
        } else if let (StopReason::Stopped(Stop::Deadline), Some(section)) = (reason, &self.section) {
            section.is_late.set(true);
        } else if self.run.ended.get().is_none() {
            self.run.ended.set(Some(reason));
        }
    }

    /// Why this branch must end.
    pub(super) fn stop_reason(&self) -> Option<StopReason> {
        self.ended().or_else(|| self.asked.get().then_some(StopReason::Stopped(Stop::Input)))
    }

    /// Why the whole run must end, or the section that this branch is in.
    pub(super) fn ended(&self) -> Option<StopReason> {
        self.run.ended.get().or_else(|| self.is_late().then_some(StopReason::Stopped(Stop::Deadline)))
    }

    /// Discounts a check: the engine also checks at the end of every function that a built-in calls, without having run
    /// a thousand steps.
    pub(super) fn do_not_count_next_check(&self) {
        self.run.checks.set(self.run.checks.get().wrapping_sub(1));
    }

    /// Yields to other fibers of this thread at the end of a time slice.
    pub(super) fn yield_if_over_slice(&self) {
        if proxy_fiber::is_over_slice() {
            self.waiting(proxy_fiber::yield_now);
        }
    }

    /// Whether the run must end now. True at most once: a second error must not replace the first.
    pub(super) fn must_stop(&self, host: Option<&Host>, memory: usize) -> bool {
        let run = &self.run;
        run.checks.set(run.checks.get().wrapping_add(1));
        self.yield_if_over_slice();
        if self.asked.get() {
            return false;
        }
        let steps = run.checks.get().cast_signed().max(0).unsigned_abs() * STEPS_PER_CHECK;
        if run.ended.get().is_none() {
            run.ended.set(self.exceeded(host, memory, steps, steps > 0));
        }
        self.note_lateness();
        self.ended().is_some() && !self.raised.replace(true)
    }

    /// Whether the run must end in the middle of a built-in.
    pub(super) fn must_stop_here(&self, host: Option<&Host>) -> bool {
        self.yield_if_over_slice();
        if self.run.ended.get().is_none() {
            self.run.ended.set(self.exceeded(host, 0, 0, true));
        }
        self.note_lateness();
        let ended = self.ended().is_some();
        if ended {
            self.raised.set(true);
        }
        ended
    }

    fn note_lateness(&self) {
        if let Some(section) = self.section.as_ref().filter(|section| Instant::now() >= section.deadline) {
            section.is_late.set(true);
        }
    }

    /// What the run has exceeded. Reading the clock is left out unless it `may_be_long`.
    fn exceeded(&self, host: Option<&Host>, memory: usize, steps: u64, may_be_long: bool) -> Option<StopReason> {
        let run = &self.run;
        if let Some(stop) = host.and_then(|host| host.effects.stopped()) {
            Some(StopReason::Stopped(stop))
        } else if steps > run.limits.steps {
            Some(StopReason::Steps)
        } else if memory > run.limits.memory || !self.has_room_for(0) {
            Some(StopReason::Memory)
        } else if may_be_long && self.computing_time() > run.limits.time {
            Some(StopReason::Time)
        } else {
            None
        }
    }

    /// The computing time of this run since it was first asked for.
    fn computing_time(&self) -> Duration {
        let (run, now) = (&self.run, cpu_time());
        match run.started.get() {
            Some(started) => now.saturating_sub(started + run.waited.get()),
            None => {
                run.started.set(Some(now));
                Duration::ZERO
            }
        }
    }
}

/// A run that has used more than this returns its memory to the system at once.
const LARGE: isize = 16 << 20;

impl Drop for RunTotals {
    fn drop(&mut self) {
        if self.allocated.get() > LARGE {
            memory::give_back();
        }
    }
}

/// The CPU time of this thread. A run stays on its thread, so other processes of a busy machine do not count.
#[cfg(unix)]
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs().try_into().unwrap_or(0))
}

#[cfg(not(unix))]
fn cpu_time() -> Duration {
    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    START.elapsed()
}
