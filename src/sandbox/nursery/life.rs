//! The nursery's own life: one thread, which nothing that a script says ever reaches.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use starlark::environment::GlobalsBuilder;

use super::line::{Order, Report};
use crate::sandbox::worker::{Ready, jail};

/// How long it listens before it looks again whether one has ended that is to end. A large one takes a while.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };

/// Runs this process as the nursery until the proxy is gone. `builtins` is what scripts can use beside their tools:
/// nothing of it may act on anything outside of the script.
pub fn run(builtins: fn() -> GlobalsBuilder) -> io::Result<()> {
    std::panic::set_hook(Box::new(|_| {}));
    let line = UnixStream::from(jail::enter()?);
    let ready = Ready::new(builtins);
    let own = rustix::process::getpid();
    let (mut born, mut ending) = (HashMap::new(), Vec::new());
    loop {
        bury(&mut ending, &line)?;
        if !ending.is_empty() && !has_order(&line) {
            continue;
        }
        match Order::receive(&line)? {
            Some(Order::Start(number, pipe)) => match copy() {
                Ok(Some(child)) => {
                    born.insert(number, child);
                    Report::Started(number).send(&line)?;
                }
                Ok(None) => ready.live(File::from(pipe), own),
                Err(error) => Report::NotStarted(number, error.raw_os_error().unwrap_or_default()).send(&line)?,
            },
            Some(Order::End(number)) => {
                if let Some(child) = born.remove(&number) {
                    // It may be gone, but its number is nobody else's until it is buried.
                    let _ = kill_process(child, Signal::KILL);
                    ending.push((number, child));
                }
            }
            None => return Ok(()),
        }
    }
}

fn has_order(line: &UnixStream) -> bool {
    let mut looked_at = [PollFd::new(line, PollFlags::IN)];
    // Cut short by a signal it has none yet, which is looked for again.
    poll(&mut looked_at, Some(&LOOK)).is_ok_and(|ready| ready > 0)
}

/// Tells of those that have ended.
fn bury(ending: &mut Vec<(u32, Pid)>, line: &UnixStream) -> io::Result<()> {
    let mut told = Ok(());
    ending.retain(|(number, child)| match waitpid(Some(*child), WaitOptions::NOHANG) {
        Ok(None) => true,
        Ok(Some((_, status))) => {
            told = Report::Ended(*number, status.as_raw()).send(line);
            false
        }
        // Nobody else waits for it, so this does not happen; it must not be asked for ever.
        Err(_) => false,
    });
    told
}

/// Makes a copy of this process; in the copy there is none.
#[expect(unsafe_code, reason = "no safe function copies a process")]
fn copy() -> io::Result<Option<Pid>> {
    // SAFETY: this process has one thread, so the copy holds no lock that nobody would let go of.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        child => Ok(Pid::from_raw(child)),
    }
}
