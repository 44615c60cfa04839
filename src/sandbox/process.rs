//! One worker process as its parent holds it, and the thread that starts them all.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};

use tokio::sync::oneshot;

use super::ARGUMENT;

/// The allocator would reserve more than a worker may map.
const ARENA: (&str, &str) = ("MIMALLOC_ARENA_RESERVE", "16MiB");

/// A worker that has no script yet, or runs one. Dropping it ends the process.
#[derive(Debug)]
pub(super) struct Process {
    child: Option<Child>,
    graves: Sender<Grave>,
}

type Grave = (Child, Option<oneshot::Sender<ExitStatus>>);

impl Process {
    pub(super) fn is_alive(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// Waits for the end of one that has closed its pipe. It is ended if it has not.
    pub(super) async fn ended(mut self) -> Option<ExitStatus> {
        let (sender, receiver) = oneshot::channel();
        let child = self.child.take()?;
        self.graves.send((child, Some(sender))).ok()?;
        receiver.await.ok()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may be gone already. Waiting for it is the other thread's business.
            let _ = child.kill();
            let _ = self.graves.send((child, None));
        }
    }
}

pub(super) type Started = io::Result<(Process, UnixStream)>;

/// Starts workers. A worker ends with the thread that started it, so that is one that stays; and it is a slow one, so
/// that what it starts is slow from the first moment.
pub(super) struct Starter(Sender<oneshot::Sender<Started>>);

impl Starter {
    pub(super) fn new() -> io::Result<Self> {
        let (orders, received) = channel::<oneshot::Sender<Started>>();
        let (graves, dead) = channel::<Grave>();
        std::thread::Builder::new().name("sandbox".into()).stack_size(256 << 10).spawn(move || {
            #[cfg(target_os = "linux")]
            // Of this thread alone, on Linux. Where it fails the worker does it for itself.
            let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), super::worker::NICENESS);
            for order in received {
                // Whoever wanted it may have gone; then it ends here.
                let _ = order.send(start(&graves));
            }
        })?;
        std::thread::Builder::new().name("sandbox ends".into()).stack_size(256 << 10).spawn(move || {
            for (mut child, told) in dead {
                let status = child.wait();
                if let (Some(told), Ok(status)) = (told, status) {
                    let _ = told.send(status);
                }
            }
        })?;
        Ok(Starter(orders))
    }

    pub(super) fn order(&self) -> oneshot::Receiver<Started> {
        let (sender, receiver) = oneshot::channel();
        // If the thread is gone the receiver says so.
        let _ = self.0.send(sender);
        receiver
    }
}

fn start(graves: &Sender<Grave>) -> Started {
    // Standard library sockets are closed on exec, so no other child holds this one open.
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    let child = Command::new(executable()?)
        .arg(ARGUMENT)
        .arg(std::process::id().to_string())
        .env_clear()
        .env(ARENA.0, ARENA.1)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok((Process { child: Some(child), graves: graves.clone() }, ours))
}

/// This very program, also if the file was replaced since.
fn executable() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { std::env::current_exe() }
}
