//! The CPU priority of threads that work in the background.

/// Lowers the priority of the calling thread for the rest of its life, so that everything that serves a client runs first.
#[cfg(target_os = "linux")]
pub(super) fn lower() {
    const NICENESS: i32 = 10;
    // On Linux the priority belongs to the thread.
    if let Err(error) = rustix::process::setpriority_process(Some(rustix::thread::gettid()), NICENESS) {
        tracing::debug!(%error, "the priority of a background thread stays as it is");
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn lower() {}
