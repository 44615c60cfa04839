//! The zygote process: forks workers on request, kills them on request, and reaps them.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use starlark::environment::GlobalsBuilder;

use super::messages::{ZygoteReport, ZygoteRequest};
use crate::sandbox::jail_state::JailState;
use crate::sandbox::protocol::WorkerExit;
use crate::sandbox::worker::{WarmWorker, jail};

/// How long the zygote waits for a request before it checks again for killed workers that have ended. Freeing the memory
/// of a large one takes a while.
const REAP_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };

/// Runs this process as the zygote until the proxy is gone. `builtins` makes the built-ins of scripts beside their tools:
/// none of them may act on anything outside of the script.
pub fn run(builtins: fn() -> GlobalsBuilder) -> io::Result<()> {
    std::panic::set_hook(Box::new(|_| {}));
    let connection = UnixStream::from(jail::enter()?);
    let mut warm_worker = WarmWorker::new(builtins);
    if thread_count()? > 1 {
        WorkerExit::Threads.now();
    }
    warm_worker.has_landlock = jail::restrict_zygote()?;
    let state = JailState { landlock: warm_worker.has_landlock, seccomp: can_filter_system_calls()? };
    ZygoteReport::Jail(state).send(&connection)?;
    serve(&connection, warm_worker)
}

/// Whether the system lets a process filter its system calls. A child tries it, because the filter cannot be removed.
fn can_filter_system_calls() -> io::Result<bool> {
    let Some(child) = fork()? else {
        let exit = if jail::filter_system_calls() { WorkerExit::Parent } else { WorkerExit::Unconfined };
        exit.now()
    };
    let status = waitpid(Some(child), WaitOptions::empty())?;
    Ok(status.is_some_and(|(_, status)| status.exit_status() == Some(WorkerExit::Parent as i32)))
}

fn serve(connection: &UnixStream, warm_worker: WarmWorker) -> io::Result<()> {
    let own_pid = rustix::process::getpid();
    let (mut children, mut killed) = (HashMap::new(), Vec::new());
    loop {
        reap(&mut killed, connection)?;
        if !killed.is_empty() && !has_request(connection) {
            continue;
        }
        match ZygoteRequest::receive(connection)? {
            Some(ZygoteRequest::Start(id, socket)) => match fork() {
                Ok(Some(child)) => {
                    children.insert(id, child);
                    ZygoteReport::Started(id).send(connection)?;
                }
                Ok(None) => warm_worker.run(File::from(socket), own_pid),
                Err(error) => {
                    ZygoteReport::NotStarted(id, error.raw_os_error().unwrap_or_default()).send(connection)?;
                }
            },
            Some(ZygoteRequest::Kill(id)) => {
                if let Some(child) = children.remove(&id) {
                    // The child may have ended already, but its process id is not reused before it is reaped.
                    let _ = kill_process(child, Signal::KILL);
                    killed.push((id, child));
                }
            }
            None => return Ok(()),
        }
    }
}

/// Whether a request arrives within [`REAP_INTERVAL`].
fn has_request(connection: &UnixStream) -> bool {
    let mut polled = [PollFd::new(connection, PollFlags::IN)];
    // A poll that a signal interrupts counts as none; the caller polls again.
    poll(&mut polled, Some(&REAP_INTERVAL)).is_ok_and(|ready| ready > 0)
}

/// Reaps the killed workers that have ended, and reports their exit statuses.
fn reap(killed: &mut Vec<(u32, Pid)>, connection: &UnixStream) -> io::Result<()> {
    let mut sent = Ok(());
    killed.retain(|(id, child)| match waitpid(Some(*child), WaitOptions::NOHANG) {
        Ok(None) => true,
        Ok(Some((_, status))) => {
            sent = ZygoteReport::Ended(*id, status.as_raw()).send(connection);
            false
        }
        // Only this loop reaps children, so this cannot happen; do not retry forever if it does.
        Err(_) => false,
    });
    sent
}

/// How many threads this process has.
#[cfg(target_os = "linux")]
fn thread_count() -> io::Result<usize> {
    std::fs::read_dir("/proc/self/task").map(Iterator::count)
}

/// Other systems do not list the threads of a process in a file; there, the tests on Linux have to do.
#[cfg(not(target_os = "linux"))]
fn thread_count() -> io::Result<usize> {
    Ok(1)
}

/// Forks this process; none in the child.
#[expect(unsafe_code, reason = "no safe function forks")]
fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: `run` has checked that this process has a single thread, and `serve` starts none; so the child inherits no
    // lock that a thread it does not have would release.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        child => Ok(Pid::from_raw(child)),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn threads_are_counted() {
        let (release, held) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || held.recv());
        assert!(thread_count().unwrap() >= 2);
        drop(release);
        assert!(thread.join().unwrap().is_err());
    }
}
