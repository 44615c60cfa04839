//! Ends a schema check that takes too long. The `jsonschema` library has no deadline, so it sees the value through
//! [`MeteredNode`]s: every access to a part of the value is counted, and exceeding the limit unwinds the check.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

/// The computing time of one check. Pauses are not part of it: other work must not make a check fail.
const MAX_TIME: Duration = Duration::from_secs(1);
/// The looks at the value between two looks at the clock, some 10 µs. An ordinary check ends before, on the thread that
/// it began on and without a system call: only what is larger can be worth a pause, or come near the deadline.
const LOOKS_PER_PERIOD: u32 = 1024;
/// Looks for the name of a member: it is compared with others, or matched with a pattern.
const LOOKS_PER_NAME: u32 = 16;
/// The errors that one check may make. The library keeps the errors of all alternatives with the error of an `anyOf`,
/// about 1.6 KB each, and alternatives multiply.
const MAX_ERRORS: u32 = 1000;
/// The stack of one check, in bytes: a quarter of a handler's. Schemas that refer to themselves recurse with the value.
const MAX_STACK: usize = 2 << 20;

/// Why a check was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Excess {
    Time,
    /// A text is too long for a pattern.
    Pattern,
    Errors,
    Stack,
}

/// What one check has used.
pub(super) struct CheckMeter<'a> {
    /// Looks until the clock is read.
    left: Cell<u32>,
    errors_left: Cell<u32>,
    max_time: Duration,
    computed: Cell<Duration>,
    /// The end of the last pause. The first period has no beginning: it is too short to count.
    since: Cell<Option<Instant>>,
    stack_base: usize,
    /// The bytes of the longest name that `patternProperties` may be matched with.
    max_name: usize,
    pause: &'a dyn Fn(),
}

impl<'a> CheckMeter<'a> {
    /// `pause` is called about every 10 µs of a long check, and lets others run.
    pub(super) fn new(max_name: usize, pause: &'a dyn Fn()) -> Self {
        CheckMeter {
            left: Cell::new(LOOKS_PER_PERIOD),
            errors_left: Cell::new(MAX_ERRORS),
            max_time: MAX_TIME,
            computed: Cell::new(Duration::ZERO),
            since: Cell::new(None),
            stack_base: stack_position(),
            max_name,
            pause,
        }
    }

    /// The meter for the name of one member, beside that of its check: a hundredth, because objects have many members.
    pub(super) fn for_name() -> Self {
        CheckMeter {
            errors_left: Cell::new(MAX_ERRORS / 100),
            max_time: MAX_TIME / 100,
            ..CheckMeter::new(usize::MAX, &|| {})
        }
    }

    /// Runs a part of the check.
    pub(super) fn run<T>(&self, part: impl FnOnce() -> T) -> Result<T, Excess> {
        // The library changes nothing that outlives the part: a compiled schema is immutable.
        catch_unwind(AssertUnwindSafe(part)).map_err(|payload: Box<dyn Any + Send>| {
            match payload.downcast::<Excess>() {
                Ok(excess) => *excess,
                Err(panic) => resume_unwind(panic),
            }
        })
    }

    /// Counts looks at the value.
    #[inline]
    pub(super) fn count(&self, looks: u32) {
        if self.stack_base.abs_diff(stack_position()) > MAX_STACK {
            end(Excess::Stack);
        }
        match self.left.get().checked_sub(looks) {
            Some(left) => self.left.set(left),
            None => self.end_period(),
        }
    }

    /// Counts the name of a member.
    pub(super) fn count_name(&self, name: &str) {
        self.count(LOOKS_PER_NAME);
        if name.len() > self.max_name {
            end(Excess::Pattern);
        }
    }

    /// Counts something that takes long, compared with reading the clock.
    pub(super) fn count_long(&self) {
        self.count(LOOKS_PER_PERIOD + 1);
    }

    pub(super) fn count_error(&self) {
        self.count(1);
        match self.errors_left.get().checked_sub(1) {
            Some(left) => self.errors_left.set(left),
            None => end(Excess::Errors),
        }
    }

    #[cold]
    fn end_period(&self) {
        self.left.set(LOOKS_PER_PERIOD);
        let now = Instant::now();
        let period = self.since.get().map_or(Duration::ZERO, |since| now - since);
        self.computed.set(self.computed.get() + period);
        if self.computed.get() > self.max_time {
            end(Excess::Time);
        }
        (self.pause)();
        self.since.set(Some(Instant::now()));
    }
}

/// Unwinds to [`CheckMeter::run`]. No panic: no hook runs, and nothing is printed.
#[cold]
pub(super) fn end(excess: Excess) -> ! {
    resume_unwind(Box::new(excess))
}

/// Roughly where the stack ends now.
#[inline]
fn stack_position() -> usize {
    let here = 0u8;
    std::ptr::from_ref(std::hint::black_box(&here)).addr()
}
