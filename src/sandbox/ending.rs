//! How a worker ends before it has said its last word, and what the model is told of it.

use std::process::ExitStatus;

use crate::config::CodeMode;

/// Exit codes by which a worker says which limit it ended at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    Memory = 90,
    Output = 91,
    /// Its parent is gone, or makes no sense.
    Parent = 92,
}

impl Exit {
    /// Ends this process on the spot. Safe anywhere, also inside the allocator.
    #[expect(unsafe_code, reason = "nothing may run or allocate on this way out")]
    pub(super) fn now(self) -> ! {
        // SAFETY: it takes a number and does not return.
        unsafe { libc::_exit(self as i32) }
    }
}

/// Why a script has no result, other than by its own fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExitReason {
    Memory,
    Output,
    Time,
    Calls,
    /// The stack of the process was used up.
    Depth,
    Source(usize),
    /// It was ended from outside, or ended itself for no reason we know.
    Lost(String),
    /// It said what no worker says.
    Confused(&'static str),
    /// No worker could be had.
    NotStarted(String),
}

impl ExitReason {
    /// How a process ended that closed its pipe.
    pub(super) fn of(status: ExitStatus) -> Self {
        #[cfg(unix)]
        {
            use std::os::unix::process::ExitStatusExt;
            if matches!(status.signal(), Some(libc::SIGSEGV | libc::SIGABRT | libc::SIGBUS)) {
                return ExitReason::Depth;
            }
        }
        match status.code() {
            Some(code) if code == Exit::Memory as i32 => ExitReason::Memory,
            Some(code) if code == Exit::Output as i32 => ExitReason::Output,
            _ => ExitReason::Lost(status.to_string()),
        }
    }

    /// In one sentence that names the limit.
    pub fn told(&self, limits: &CodeMode) -> String {
        let mebibytes = |bytes: u64| match bytes {
            bytes if bytes % (1 << 20) == 0 => format!("{} MiB", bytes >> 20),
            bytes => format!("{bytes} bytes"),
        };
        let over = match self {
            ExitReason::Memory => format!("{} of memory (`codeMode.memory`)", mebibytes(limits.memory)),
            ExitReason::Output => {
                format!("{} of output, returned and printed (`codeMode.maxOutput`)", mebibytes(limits.max_output))
            }
            ExitReason::Time => format!("{} s (`codeMode.timeout`)", limits.timeout.as_secs_f64()),
            ExitReason::Calls => format!("{} tool calls (`codeMode.maxCalls`)", limits.max_calls),
            ExitReason::Depth => return "the script, or a value of it, is nested too deeply".to_owned(),
            ExitReason::Source(size) => {
                return format!("the script has {size} bytes; it may have {}", super::MAX_SOURCE);
            }
            ExitReason::Lost(how) => return format!("the worker of the script was lost ({how}); run it again"),
            ExitReason::Confused(what) => return format!("the worker of the script was ended: {what}"),
            ExitReason::NotStarted(why) => return format!("no worker for the script: {why}"),
        };
        format!("the script used more than its limit of {over}")
    }
}
