//! Why a worker ended without a script result, and the error message for the model.

use std::process::ExitStatus;

use crate::sandbox::protocol::{MAX_SOURCE, WorkerExit};
use proxy_config::CodeMode;

/// Why a script has no result, other than by an error of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExitReason {
    Memory,
    Output,
    Time,
    Calls,
    /// The worker's stack overflowed.
    Depth,
    /// The script has this many bytes, which is too many.
    Source(usize),
    /// The worker was killed, or ended for an unknown reason.
    Lost(String),
    /// The worker violated the protocol.
    Confused(&'static str),
    /// The system refuses a layer of the jail, and the config requires all of them.
    Unconfined,
    /// There is no worker for the script.
    NotStarted(String),
}

impl ExitReason {
    /// The reason behind the exit status of a worker that closed its connection.
    pub(super) fn of(status: ExitStatus) -> Self {
        #[cfg(unix)]
        {
            use std::os::unix::process::ExitStatusExt;
            if matches!(status.signal(), Some(libc::SIGSEGV | libc::SIGABRT | libc::SIGBUS)) {
                return ExitReason::Depth;
            }
        }
        match status.code() {
            Some(code) if code == WorkerExit::Memory as i32 => ExitReason::Memory,
            Some(code) if code == WorkerExit::Output as i32 => ExitReason::Output,
            Some(code) if code == WorkerExit::Unconfined as i32 => ExitReason::Unconfined,
            _ => ExitReason::Lost(status.to_string()),
        }
    }

    /// One sentence for the model, which names the limit and its config key.
    pub fn message(&self, limits: &CodeMode) -> String {
        let mebibytes = |bytes: u64| match bytes {
            bytes if bytes % (1 << 20) == 0 => format!("{} MiB", bytes >> 20),
            bytes => format!("{bytes} bytes"),
        };
        let limit = match self {
            ExitReason::Memory => format!("{} of memory (`codeMode.memory`)", mebibytes(limits.memory)),
            ExitReason::Output => {
                format!("{} of output, returned and printed (`codeMode.maxOutput`)", mebibytes(limits.max_output))
            }
            ExitReason::Time => format!("{} s (`codeMode.timeout`)", limits.timeout.as_secs_f64()),
            ExitReason::Calls => format!("{} tool calls (`codeMode.maxCalls`)", limits.max_calls),
            ExitReason::Depth => return "the script or one of its values is nested too deeply".to_owned(),
            ExitReason::Source(size) => return format!("the script has {size} bytes; the maximum is {MAX_SOURCE}"),
            ExitReason::Lost(how) => {
                return format!("the script's worker process was lost ({how}); run the script again");
            }
            ExitReason::Confused(what) => return format!("the script's worker process broke the protocol: {what}"),
            ExitReason::Unconfined => {
                return "scripts are disabled: this system cannot confine them as `codeMode.requireJail` demands"
                    .to_owned();
            }
            ExitReason::NotStarted(why) => return format!("cannot start a worker process for the script: {why}"),
        };
        format!("the script used more than its limit of {limit}")
    }
}
