//! The limits of a run.

use std::time::Duration;

/// Guards against mistakes, not against malice: a single very large operation of the engine is not interrupted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Function calls and loop iterations, checked every thousand.
    pub steps: u64,
    /// Computing time. Time spent waiting for a backend does not count.
    pub time: Duration,
    /// Bytes that the run has allocated and not freed, whatever they are for.
    pub memory: usize,
    /// Frames of the call stack.
    pub stack: usize,
}

impl Limits {
    pub const SESSION_SCRIPT: Limits =
        Limits { steps: 10_000_000, time: Duration::from_secs(5), memory: 256 << 20, stack: 200 };
    pub const HANDLER: Limits = Limits::SESSION_SCRIPT;
    /// A function that completes an argument: a person waits for its values while typing.
    pub const COMPLETION: Limits = Limits { time: Duration::from_secs(2), ..Limits::HANDLER };
}
