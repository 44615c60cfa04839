//! How a worker gives up what it does not need, before it has seen a script.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use rustix::process::{Resource, Rlimit, setrlimit};

use crate::sandbox::ADDRESS_SPACE;

/// Behind everybody who serves a client.
pub(in crate::sandbox) const NICENESS: i32 = 15;

/// Leaves it with one descriptor, its pipe; with little memory; and with no way to outlive its parent.
pub(super) fn prepare() -> io::Result<File> {
    end_with_parent()?;
    let pipe = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    close_all_but(&pipe);
    rustix::process::setpriority_process(None, NICENESS)?;
    #[cfg(target_os = "linux")]
    {
        // If memory runs out, this is the process to do without. Not everywhere may one say so.
        let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
        super::super::kernel::without_files_and_network();
    }
    for (resource, most) in
        [(Resource::As, ADDRESS_SPACE), (Resource::Core, 0), (Resource::Fsize, 0), (Resource::Nofile, 0)]
    {
        // What was allowed less stays so.
        let most = rustix::process::getrlimit(resource).maximum.map_or(most, |maximum| maximum.min(most));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    Ok(pipe)
}

/// The last step: nothing can be undone behind it.
pub(super) fn shut() {
    #[cfg(target_os = "linux")]
    super::super::kernel::few_calls_only();
}

/// Two ways, because either has a hole: the pipe says nothing while the script computes on every thread, the signal
/// comes from Linux only.
fn end_with_parent() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Signal, getppid, set_parent_process_death_signal};
        set_parent_process_death_signal(Some(Signal::KILL))?;
        let wanted = std::env::args().nth(2).and_then(|text| text.parse().ok());
        // It may have gone before the signal was asked for.
        if getppid().map(|id| id.as_raw_nonzero().get()) != wanted {
            return Err(io::Error::other("the parent is gone"));
        }
    }
    Ok(())
}

/// Whatever was left open by whoever started the proxy is none of a script's business.
#[expect(unsafe_code, reason = "no safe function closes descriptors by number")]
fn close_all_but(pipe: &File) {
    use std::os::fd::AsRawFd;
    let kept = pipe.as_raw_fd();
    for descriptor in 0..HIGHEST_DESCRIPTOR {
        if descriptor != kept {
            // SAFETY: nothing in this process uses a descriptor yet but the pipe. One that is not open is no harm.
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
