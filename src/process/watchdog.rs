//! A small process that outlives the proxy by a moment: when the proxy is gone, however it went, it ends the process
//! groups of the servers that are left.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use super::tree;

/// The first argument that makes the binary a watchdog.
pub const ARGUMENT: &str = "__watchdog";

/// The pipe to the watchdog: four bytes a record, a process group to remember or, negative, to forget; zero ends it.
static PIPE: OnceLock<OwnedFd> = OnceLock::new();
/// The watchdog itself, to be reaped after an orderly end.
static PROCESS: Mutex<Option<Child>> = Mutex::new(None);

/// Starts the watchdog from this executable. Once is enough; without it children are ended only by an orderly end.
pub fn start(executable: &Path) -> io::Result<()> {
    if PIPE.get().is_some() {
        return Ok(());
    }
    let mut watchdog = Command::new(executable)
        .arg(ARGUMENT)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    if let Some(pipe) = watchdog.stdin.take() {
        // Standard library pipes are closed on exec, so no server holds this one open.
        let _ = PIPE.set(OwnedFd::from(pipe));
        *PROCESS.lock().unwrap_or_else(PoisonError::into_inner) = Some(watchdog);
    }
    Ok(())
}

/// Ends the watchdog: all children are gone, and it should not stay behind as a zombie where nobody reaps.
pub fn end() {
    let watchdog = PROCESS.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let (Some(mut watchdog), Some(pipe)) = (watchdog, PIPE.get()) {
        let _ = rustix::io::write(pipe, &0i32.to_le_bytes());
        let _ = watchdog.wait();
    }
}

/// What a child runs before its program: it makes itself known.
pub(super) fn registrar() -> Option<impl FnMut() -> io::Result<()> + Send + Sync + 'static> {
    let pipe = PIPE.get()?;
    Some(move || {
        let record = rustix::process::getpid().as_raw_nonzero().get().to_le_bytes();
        rustix::io::write(pipe, &record)?;
        Ok(())
    })
}

pub(super) fn forget(group: Pid) {
    if let Some(pipe) = PIPE.get() {
        let record = (-group.as_raw_nonzero().get()).to_le_bytes();
        // If the watchdog is gone there is nobody to tell.
        let _ = rustix::io::write(pipe, &record);
    }
}

/// The watchdog's whole life: remembers groups until its input ends, then ends them.
pub fn run() -> io::Result<()> {
    // Out of the terminal's reach: Ctrl-C is for the proxy, which needs us to outlive it.
    let _ = rustix::process::setsid();
    let mut groups = BTreeSet::new();
    let mut input = File::open("/dev/stdin")?;
    let mut record = [0u8; 4];
    while input.read_exact(&mut record).is_ok() {
        let number = i32::from_le_bytes(record);
        if number == 0 {
            break;
        }
        if number > 0 {
            groups.insert(number);
        } else {
            groups.remove(&-number);
        }
    }
    let groups: Vec<Pid> = groups.into_iter().filter_map(Pid::from_raw).collect();
    if groups.is_empty() {
        return Ok(());
    }
    let families: Vec<_> = groups.iter().map(|group| tree::descendants(*group)).collect();
    for (signal, pause) in [(Signal::TERM, Duration::from_millis(300)), (Signal::KILL, Duration::ZERO)] {
        for (group, family) in groups.iter().zip(&families) {
            // A group that ended by itself is no longer there to be signalled.
            let _ = kill_process_group(*group, signal);
            tree::signal(family, signal);
        }
        std::thread::sleep(pause);
    }
    Ok(())
}
