//! Exit codes of sandbox processes.

/// Why a worker or the zygote ended itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerExit {
    /// The script exceeded its memory limit.
    Memory = 90,
    /// The script exceeded its output limit.
    Output = 91,
    /// The proxy is gone, or sent something that is no message.
    Parent = 92,
    /// The zygote has more than one thread, so a fork of it could inherit a lock that is never released.
    Threads = 93,
    /// The system refuses a layer of the jail, and the job requires all of them.
    Unconfined = 94,
}

impl WorkerExit {
    /// Ends this process at once. Safe to call anywhere, also inside the allocator.
    #[expect(unsafe_code, reason = "no destructor may run, and nothing may allocate, on this way out")]
    pub fn now(self) -> ! {
        // SAFETY: `_exit` takes a number and does not return.
        unsafe { libc::_exit(self as i32) }
    }
}
