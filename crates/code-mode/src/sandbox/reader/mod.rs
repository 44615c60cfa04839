//! A process of this binary that runs a command of the proxy, such as its tests, over scripts that a model has written. It can
//! read its current folder and compute; no other file, no network, no program, and nothing is written.

#[cfg(target_os = "linux")]
mod system_calls;

use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

use rustix::process::{Pid, Resource};

use super::jail_state::JailState;
use super::protocol::WorkerExit;
use super::worker::jail;
use proxy_base::memory;

/// The first argument that makes this binary such a process. The arguments that follow are those of [`arguments`], and then the
/// command.
pub const ARGUMENT: &str = "__reader";

/// The nice value: whoever waits at a terminal is served first.
const NICENESS: i32 = 10;
/// The descriptors beyond the three standard streams: files that are read one by one, and the runtime's own.
const DESCRIPTORS: u64 = 256;
/// The address space beyond the memory limit. Threads have large stacks, of which untouched pages are free.
const MORE_ADDRESS_SPACE: u64 = 8 << 30;

/// How much such a process may use.
#[derive(Clone, Copy, Debug)]
pub struct ReaderLimits {
    /// Of processors, in seconds.
    pub time: Duration,
    /// In bytes.
    pub memory: u64,
    /// Whether the process ends if the system refuses a layer of its jail.
    pub requires_jail: bool,
}

/// The arguments that start such a process from this one.
pub fn arguments(limits: ReaderLimits) -> Vec<String> {
    let numbers =
        [u64::from(std::process::id()), limits.time.as_secs(), limits.memory, u64::from(limits.requires_jail)];
    let numbers = numbers.map(|number| number.to_string());
    std::iter::once(ARGUMENT.to_owned()).chain(numbers).collect()
}

/// How many of the first arguments are no part of the command: the program and those of [`arguments`].
const OWN_ARGUMENTS: usize = 6;

/// Confines this process, which must have a single thread. Returns the number of arguments before the command.
///
/// # Errors
/// The parent has ended, or a limit cannot be set.
pub fn enter() -> io::Result<usize> {
    let mut numbers = std::env::args().skip(2).map_while(|text| text.parse::<u64>().ok());
    let mut next = || numbers.next().ok_or_else(|| io::Error::other("a number is missing"));
    let parent = i32::try_from(next()?).ok().and_then(Pid::from_raw);
    let time = next()?;
    let bytes = next()?;
    let requires_jail = next()? != 0;
    jail::end_with_parent(parent)?;
    jail::close_range(3, RawFd::MAX);
    rustix::process::setpriority_process(None, NICENESS)?;
    memory::limit(bytes, || WorkerExit::Memory.now());
    let is_complete = restrict()?.is_complete();
    if requires_jail && !is_complete {
        WorkerExit::Unconfined.now();
    }
    jail::limit(&[
        (Resource::Core, 0),
        (Resource::Fsize, 0),
        (Resource::Nofile, DESCRIPTORS),
        (Resource::Cpu, time),
        (Resource::As, bytes + MORE_ADDRESS_SPACE),
    ])?;
    Ok(OWN_ARGUMENTS)
}

#[cfg(target_os = "linux")]
fn restrict() -> io::Result<JailState> {
    // If memory runs out, the kernel should end this process first. In some containers this file is read-only.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    let folder = std::env::current_dir()?;
    let landlock = super::worker::kernel::deny_files_but(Some(&folder));
    Ok(JailState { landlock, seccomp: system_calls::filter() })
}

#[cfg(not(target_os = "linux"))]
fn restrict() -> io::Result<JailState> {
    Ok(JailState { landlock: false, seccomp: false })
}
