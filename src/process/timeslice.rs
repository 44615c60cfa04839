//! How long a thread computes before others have their turn.

/// Asks the system for few and long turns of the calling thread, and of what it starts: then whoever wakes up meanwhile
/// and wants less goes first, and does not wait for the next tick of the clock. The share of the processor stays what it
/// is. Does nothing where the system knows of no such thing.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "no safe function sets the length of a turn")]
pub fn request_long_timeslice() {
    /// The longest there is.
    const TURN: u64 = 100_000_000;
    let Ok(nice) = rustix::process::getpriority_process(Some(rustix::thread::gettid())) else { return };
    let attributes = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: libc::SCHED_OTHER.cast_unsigned(),
        sched_flags: 0,
        sched_nice: nice,
        sched_priority: 0,
        sched_runtime: TURN,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: the attributes outlive the call, say how long they are, and concern the calling thread alone.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}

#[cfg(not(target_os = "linux"))]
pub fn request_long_timeslice() {}
