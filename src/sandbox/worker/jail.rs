//! How the nursery, and then a worker, gives up what it does not need, before it has seen a script.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::process::{Pid, Resource, Rlimit, setrlimit};

use crate::sandbox::ADDRESS_SPACE;

/// Behind everybody who serves a client.
const NICENESS: i32 = 15;

/// The nursery's share, which its workers have from it: it is left with one descriptor, its line to the proxy, and with
/// no way to outlive that.
pub(in crate::sandbox) fn enter() -> io::Result<OwnedFd> {
    end_with(std::env::args().nth(2).and_then(|text| text.parse().ok()).and_then(Pid::from_raw))?;
    let line = io::stdin().as_fd().try_clone_to_owned()?;
    close_all_but(&line);
    #[cfg(target_os = "linux")]
    {
        // If memory runs out, these are the processes to do without. Not everywhere may one say so.
        let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
        crate::sandbox::kernel::without_files_and_network();
    }
    limit(&[(Resource::Core, 0), (Resource::Fsize, 0)])?;
    Ok(line)
}

/// The worker's share: one descriptor, its pipe; little memory; and a place behind others. The nursery has none of that:
/// it must get through to end those who compute.
pub(super) fn shut_in(pipe: &File, parent: Pid) -> io::Result<()> {
    end_with(Some(parent))?;
    close_all_but(pipe);
    rustix::process::setpriority_process(None, NICENESS)?;
    crate::fiber::request_long_timeslice();
    #[cfg(target_os = "linux")]
    crate::sandbox::kernel::on_half_of_the_processors();
    limit(&[(Resource::As, ADDRESS_SPACE), (Resource::Nofile, 0)])
}

/// What was allowed less stays so.
fn limit(limits: &[(Resource, u64)]) -> io::Result<()> {
    for (resource, most) in limits {
        let most = rustix::process::getrlimit(*resource).maximum.map_or(*most, |maximum| maximum.min(*most));
        setrlimit(*resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    Ok(())
}

/// The last step: nothing can be undone behind it.
pub(super) fn shut() {
    #[cfg(target_os = "linux")]
    crate::sandbox::kernel::few_calls_only();
}

/// Two ways, because either has a hole: the pipe says nothing while the script computes on every thread, the signal
/// comes from Linux only.
fn end_with(parent: Option<Pid>) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Signal, getppid, set_parent_process_death_signal};
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // It may have gone before the signal was asked for.
        if getppid() != parent {
            return Err(io::Error::other("the parent is gone"));
        }
    }
    Ok(())
}

/// Whatever was left open by whoever started the proxy is none of a script's business.
#[expect(unsafe_code, reason = "no safe function closes descriptors by number")]
fn close_all_but(kept: &impl AsRawFd) {
    let kept = kept.as_raw_fd();
    for descriptor in 0..HIGHEST_DESCRIPTOR {
        if descriptor != kept {
            // SAFETY: nothing in this process uses another descriptor. One that is not open is no harm.
            unsafe { libc::close(descriptor) };
        }
    }
    #[cfg(target_os = "linux")]
    // SAFETY: as above, for the rest.
    unsafe {
        libc::syscall(libc::SYS_close_range, HIGHEST_DESCRIPTOR, libc::c_uint::MAX, 0)
    };
}

/// Above this they are closed all at once, where the system can.
const HIGHEST_DESCRIPTOR: i32 = 64;
