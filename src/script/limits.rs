//! How much a script may compute.

use std::time::Duration;

/// Guards against mistakes, not against malice: one giant native operation is not interrupted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Calls and loop rounds. Looked at every thousand.
    pub steps: u64,
    /// Own computing time: waiting for a backend does not count.
    pub time: Duration,
    /// Bytes of the Starlark heap.
    pub memory: usize,
    /// Frames of the call stack.
    pub stack: usize,
}

impl Limits {
    pub const SESSION_SCRIPT: Limits =
        Limits { steps: 10_000_000, time: Duration::from_secs(5), memory: 256 << 20, stack: 200 };
    pub const HANDLER: Limits = Limits::SESSION_SCRIPT;
}
