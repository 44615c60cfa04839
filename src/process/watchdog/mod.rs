//! A small process that outlives the proxy by a moment: when the proxy is gone, however it went, it ends the process
//! groups of the servers that are left. Here is the proxy's side.

mod guard;
mod line;
mod ward;

use std::collections::HashSet;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::Pid;

pub use guard::run;

/// The first argument that makes the binary a watchdog.
pub const ARGUMENT: &str = "__watchdog";

static WATCHDOG: Mutex<Option<Watchdog>> = Mutex::new(None);

struct Watchdog {
    executable: PathBuf,
    process: Child,
    line: Arc<UnixStream>,
    /// What runs now, for a successor.
    groups: HashSet<Pid>,
    /// That there is no successor was said already.
    lost: bool,
}

/// Starts the watchdog from this executable. Once is enough; without it children are ended only by an orderly end.
pub fn start(executable: &Path) -> io::Result<()> {
    let mut watchdog = lock();
    if watchdog.is_none() {
        let (process, line) = line::launch(executable)?;
        let executable = executable.to_owned();
        *watchdog = Some(Watchdog { executable, process, line, groups: HashSet::new(), lost: false });
    }
    Ok(())
}

/// Ends the watchdog: all children are gone, and it should not stay behind as a zombie where nobody reaps.
pub fn end() {
    // With a child left it has to stay: it is the one who ends that child when we are gone.
    let watchdog = lock().take_if(|watchdog| watchdog.groups.is_empty());
    if let Some(mut watchdog) = watchdog {
        line::send(&watchdog.line, line::END);
        // The end of the line ends it too, should the record have been lost.
        drop(watchdog.line);
        let _ = watchdog.process.wait();
    }
}

/// What a child runs before its program: it makes itself known.
pub(super) fn registrar() -> Option<impl FnMut() -> io::Result<()> + Send + Sync + 'static> {
    let line = {
        let mut watchdog = lock();
        let watchdog = watchdog.as_mut()?;
        watchdog.replace_if_gone();
        Arc::clone(&watchdog.line)
    };
    Some(move || {
        // A server without a watchdog is better than none.
        line::send(&line, rustix::process::getpid().as_raw_nonzero().get());
        Ok(())
    })
}

/// Notes a child that runs. It has registered itself; this is for the next watchdog, should this one go.
pub(super) fn note(group: Pid) {
    if let Some(watchdog) = lock().as_mut() {
        watchdog.groups.insert(group);
    }
}

pub(super) fn forget(group: Pid) {
    if let Some(watchdog) = lock().as_mut() {
        watchdog.groups.remove(&group);
        line::send(&watchdog.line, -group.as_raw_nonzero().get());
    }
}

impl Watchdog {
    fn replace_if_gone(&mut self) {
        if matches!(self.process.try_wait(), Ok(None)) {
            return;
        }
        match line::launch(&self.executable) {
            Ok((process, line)) => {
                tracing::warn!("the watchdog was gone; another one was started");
                for group in &self.groups {
                    line::send(&line, group.as_raw_nonzero().get());
                }
                (self.process, self.line, self.lost) = (process, line, false);
            }
            Err(error) if !self.lost => {
                tracing::warn!(%error, "the watchdog is gone: servers may stay if the proxy is killed");
                self.lost = true;
            }
            Err(_) => {}
        }
    }
}

fn lock() -> MutexGuard<'static, Option<Watchdog>> {
    WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner)
}
