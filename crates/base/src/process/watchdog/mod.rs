//! The watchdog: a small process that survives the proxy and kills the process groups of the servers that are left.
//! This file is the proxy's side.

mod run;
mod protocol;
mod group;

use std::collections::HashSet;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use rustix::process::Pid;

pub use run::run;

/// The first argument that makes the binary a watchdog.
pub const ARGUMENT: &str = "__watchdog";

static WATCHDOG: Mutex<Option<Watchdog>> = Mutex::new(None);

struct Watchdog {
    executable: PathBuf,
    process: Child,
    socket: Arc<UnixStream>,
    /// The running groups, which a replacement of the watchdog has to know.
    groups: HashSet<Pid>,
    /// Whether the log says already that the watchdog could not be replaced.
    loss_logged: bool,
}

/// Starts the watchdog from this executable, unless it runs already. Without it, children are stopped only if the proxy
/// shuts down in order.
pub fn start(executable: &Path) -> io::Result<()> {
    let mut watchdog = lock();
    if watchdog.is_none() {
        let (process, socket) = protocol::launch(executable)?;
        let executable = executable.to_owned();
        *watchdog = Some(Watchdog { executable, process, socket, groups: HashSet::new(), loss_logged: false });
    }
    Ok(())
}

/// Ends the watchdog and reaps it, if all children are gone.
pub fn end() {
    // If a child is left, the watchdog stays to kill it after the proxy has exited.
    let watchdog = lock().take_if(|watchdog| watchdog.groups.is_empty());
    if let Some(mut watchdog) = watchdog {
        protocol::send(&watchdog.socket, protocol::END);
        // Closing the socket ends the watchdog too, in case the record was lost.
        drop(watchdog.socket);
        let _ = watchdog.process.wait();
    }
}

/// A closure that a child runs between fork and exec to register its process group with the watchdog.
pub(super) fn registrar() -> Option<impl FnMut() -> io::Result<()> + Send + Sync + 'static> {
    let socket = {
        let mut watchdog = lock();
        let watchdog = watchdog.as_mut()?;
        watchdog.replace_if_gone();
        Arc::clone(&watchdog.socket)
    };
    Some(move || {
        // The server starts even if the registration fails.
        protocol::send(&socket, rustix::process::getpid().as_raw_nonzero().get());
        Ok(())
    })
}

/// Records a running child, which has registered itself, for a replacement of the watchdog.
pub(super) fn note(group: Pid) {
    if let Some(watchdog) = lock().as_mut() {
        watchdog.groups.insert(group);
    }
}

/// Removes a group whose processes are all gone.
pub(super) fn forget(group: Pid) {
    if let Some(watchdog) = lock().as_mut() {
        watchdog.groups.remove(&group);
        protocol::send(&watchdog.socket, -group.as_raw_nonzero().get());
    }
}

impl Watchdog {
    fn replace_if_gone(&mut self) {
        if matches!(self.process.try_wait(), Ok(None)) {
            return;
        }
        match protocol::launch(&self.executable) {
            Ok((process, socket)) => {
                tracing::warn!("the watchdog had exited and was restarted");
                for group in &self.groups {
                    protocol::send(&socket, group.as_raw_nonzero().get());
                }
                (self.process, self.socket, self.loss_logged) = (process, socket, false);
            }
            Err(error) if !self.loss_logged => {
                tracing::warn!(%error, "the watchdog exited and cannot be restarted: servers may keep running if the proxy is killed");
                self.loss_logged = true;
            }
            Err(_) => {}
        }
    }
}

fn lock() -> MutexGuard<'static, Option<Watchdog>> {
    WATCHDOG.lock()
}
