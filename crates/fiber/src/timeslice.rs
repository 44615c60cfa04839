//! The CPU scheduler's time slice of a thread.

/// Asks the kernel for the longest time slice for the calling thread and its future children. A thread with a shorter
/// slice that wakes up meanwhile then preempts this one at once and does not wait for the next scheduler tick. The
/// thread's share of the CPU stays the same. Does nothing on kernels without `sched_setattr`.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "no safe function sets the time slice")]
pub fn request_long_timeslice() {
    /// The longest slice that the EEVDF scheduler accepts.
    const SLICE_NANOS: u64 = 100_000_000;
    let Ok(nice) = rustix::process::getpriority_process(Some(rustix::thread::gettid())) else { return };
    let attributes = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: libc::SCHED_OTHER.cast_unsigned(),
        sched_flags: 0,
        sched_nice: nice,
        sched_priority: 0,
        sched_runtime: SLICE_NANOS,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: the attributes outlive the call, carry their own size, and concern the calling thread only.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}

#[cfg(not(target_os = "linux"))]
pub fn request_long_timeslice() {}
