//! How the zygote, and then each worker, drops privileges before it has seen a script.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use rustix::process::{Pid, Resource, Rlimit, setrlimit};

use crate::sandbox::protocol::ADDRESS_SPACE;

/// The nice value of workers, so that everything that serves a client runs first.
const NICENESS: i32 = 15;

/// The first step of the zygote: it keeps one descriptor, its connection to the proxy, and ends with the proxy.
pub(in crate::sandbox) fn enter() -> io::Result<OwnedFd> {
    end_with_parent(std::env::args().nth(2).and_then(|text| text.parse().ok()).and_then(Pid::from_raw))?;
    let connection = io::stdin().as_fd().try_clone_to_owned()?;
    close_all_but(connection.as_raw_fd());
    // If memory runs out, the kernel should kill these processes first. In some containers this file is read-only.
    #[cfg(target_os = "linux")]
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    Ok(connection)
}

/// The second step of the zygote, which its workers inherit: no files, no network, no core dumps. Returns whether the
/// kernel denies files and the network; the system calls are not filtered yet.
pub(in crate::sandbox) fn restrict_zygote() -> io::Result<bool> {
    #[cfg(target_os = "linux")]
    let denies_files = super::kernel::deny_files_and_network();
    #[cfg(not(target_os = "linux"))]
    let denies_files = false;
    limit(&[(Resource::Core, 0), (Resource::Fsize, 0)])?;
    Ok(denies_files)
}

/// The worker's restrictions: one descriptor, its socket; little memory; and low priority. The zygote has none of these,
/// because it must be able to kill workers that compute.
pub(super) fn restrict_worker(socket: &File, zygote: Pid) -> io::Result<()> {
    end_with_parent(Some(zygote))?;
    close_all_but(socket.as_raw_fd());
    rustix::process::setpriority_process(None, NICENESS)?;
    proxy_fiber::request_long_timeslice();
    #[cfg(target_os = "linux")]
    super::kernel::use_half_of_the_processors();
    limit(&[(Resource::As, ADDRESS_SPACE), (Resource::Nofile, 0)])
}

/// Sets hard limits; a limit that is lower already stays.
pub(in crate::sandbox) fn limit(limits: &[(Resource, u64)]) -> io::Result<()> {
    for (resource, max) in limits {
        let max = rustix::process::getrlimit(*resource).maximum.map_or(*max, |maximum| maximum.min(*max));
        setrlimit(*resource, Rlimit { current: Some(max), maximum: Some(max) })?;
    }
    Ok(())
}

/// The last restriction of the worker, once all its threads have started. Returns whether the kernel enforces it.
pub(in crate::sandbox) fn filter_system_calls() -> bool {
    #[cfg(target_os = "linux")]
    return super::kernel::filter_system_calls();
    #[cfg(not(target_os = "linux"))]
    false
}

/// Has the kernel kill this process when its parent ends. A process also ends when its socket is closed, but notices that
/// only while a thread reads the socket.
pub(in crate::sandbox) fn end_with_parent(parent: Option<Pid>) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Signal, getppid, set_parent_process_death_signal};
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have ended before the signal was set up.
        if getppid() != parent {
            return Err(io::Error::other("the parent process has ended"));
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = parent;
    Ok(())
}

/// Closes every descriptor but one. The proxy may have inherited descriptors that are none of a script's business.
fn close_all_but(kept: RawFd) {
    close_range(0, kept - 1);
    close_range(kept + 1, RawFd::MAX);
}

/// Closes the descriptors from `first` to `last`, both included.
#[expect(unsafe_code, reason = "no safe function closes descriptors by number")]
pub(in crate::sandbox) fn close_range(first: RawFd, last: RawFd) {
    if first > last {
        return;
    }
    #[cfg(target_os = "linux")]
    // SAFETY: nothing in this process uses a descriptor in the range; see below.
    if unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } == 0 {
        return;
    }
    // Other systems, and Linux before 5.9, close one by one.
    for descriptor in first..=last.min(highest_descriptor()) {
        // SAFETY: nothing in this process uses a descriptor but the one that `close_all_but` keeps. Closing a number that
        // is not open is an error without effect.
        unsafe { libc::close(descriptor) };
    }
}

/// The highest descriptor that this process can have, as far as it is worth looking.
fn highest_descriptor() -> RawFd {
    const MAX: RawFd = 1 << 16;
    let limit = rustix::process::getrlimit(Resource::Nofile).current;
    limit.and_then(|limit| RawFd::try_from(limit).ok()).map_or(MAX, |limit| limit.min(MAX))
}
