//! The proxy's handle to the zygote: requests workers, and has them killed. A zygote that dies takes its workers with it;
//! the next request starts another.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;

use parking_lot::{Condvar, Mutex, MutexGuard};
use tokio::sync::oneshot;

use super::messages::{ZygoteReport, ZygoteRequest};
use super::process::WorkerProcess;
use crate::sandbox::jail_state;
use crate::sandbox::protocol::{ARGUMENT, WorkerExit};

/// By default mimalloc reserves more address space than a worker may map.
const ALLOCATOR_RESERVE: (&str, &str) = ("MIMALLOC_ARENA_RESERVE", "16MiB");

/// A worker without a script, and the proxy's end of its socket.
pub(in crate::sandbox) type StartedWorker = io::Result<(WorkerProcess, UnixStream)>;

#[derive(Debug, Default)]
pub(in crate::sandbox) struct Zygote {
    state: Mutex<ZygoteState>,
    requested: Condvar,
}

#[derive(Debug, Default)]
struct ZygoteState {
    /// To the current zygote process; none before it has started and after it has ended.
    connection: Option<UnixStream>,
    next_id: u32,
    /// The first worker of the current zygote process: workers with a lower id have ended with an earlier one.
    first_id: u32,
    /// Workers that were requested and not reported yet, oldest first.
    requested: BTreeMap<u32, RequestedWorker>,
    /// Channels for the exit status of workers that are being killed, by worker.
    exits: HashMap<u32, oneshot::Sender<ExitStatus>>,
    /// Workers to kill for which the socket had no space. They are sent when the zygote, which is behind, has sent its
    /// next report.
    unsent_kills: Vec<u32>,
}

#[derive(Debug)]
struct RequestedWorker {
    socket: UnixStream,
    /// The worker's end of the socket, until the request is sent.
    worker_end: Option<OwnedFd>,
    started: oneshot::Sender<StartedWorker>,
}

impl Zygote {
    /// Starts the thread that supervises the zygote; the process itself is started by the first request. The kernel kills
    /// the process when the thread that started it ends, so that thread lives as long as the proxy.
    pub(in crate::sandbox) fn new() -> io::Result<Arc<Self>> {
        let zygote = Arc::new(Zygote::default());
        let supervised = Arc::clone(&zygote);
        std::thread::Builder::new()
            .name("sandbox".into())
            .stack_size(256 << 10)
            .spawn(move || supervised.supervise())?;
        Ok(zygote)
    }

    fn lock(&self) -> MutexGuard<'_, ZygoteState> {
        self.state.lock()
    }

    /// Requests a worker.
    pub(in crate::sandbox) fn request_worker(&self) -> oneshot::Receiver<StartedWorker> {
        let (started, receiver) = oneshot::channel();
        jail_state::requested();
        match socket_pair() {
            Ok((socket, worker_end)) => {
                let mut state = self.lock();
                let id = state.next_id;
                state.next_id = id.wrapping_add(1);
                state.requested.insert(id, RequestedWorker { socket, worker_end: Some(worker_end), started });
                state.send_requests();
                self.requested.notify_one();
            }
            // The caller may have dropped the receiver.
            Err(error) => drop(started.send(Err(error))),
        }
        receiver
    }

    /// Kills a worker. The receiver gets its exit status, or an error if the zygote is gone and the status unknown.
    pub(super) fn kill(&self, id: u32) -> oneshot::Receiver<ExitStatus> {
        let (exited, receiver) = oneshot::channel();
        let mut state = self.lock();
        if state.connection.is_some() && id >= state.first_id {
            state.exits.insert(id, exited);
            state.unsent_kills.push(id);
            state.send_kills();
        }
        receiver
    }

    /// Starts the zygote process whenever workers are requested and there is none.
    fn supervise(self: &Arc<Self>) {
        loop {
            self.requested.wait_while(&mut self.lock(), |state| state.requested.is_empty());
            let lost = match start() {
                Ok((mut child, connection)) => {
                    self.receive_reports(&connection);
                    let _ = child.kill();
                    match child.wait() {
                        Ok(status) => io::Error::other(describe_exit(status)),
                        Err(error) => error,
                    }
                }
                Err(error) => error,
            };
            self.connection_lost(&lost);
        }
    }

    /// Returns when the zygote is gone.
    fn receive_reports(self: &Arc<Self>, connection: &UnixStream) {
        match connection.try_clone() {
            Ok(connection) => {
                let mut state = self.lock();
                state.connection = Some(connection);
                state.send_requests();
            }
            Err(_) => return,
        }
        while let Ok(report) = ZygoteReport::receive(connection) {
            self.handle_report(report);
        }
    }

    fn handle_report(self: &Arc<Self>, report: ZygoteReport) {
        self.lock().send_kills();
        match report {
            ZygoteReport::Started(id) => {
                let requested = self.lock().requested.remove(&id);
                let process = WorkerProcess::new(id, Arc::clone(self));
                // If the caller has dropped the receiver, dropping the process kills the worker.
                let _ = requested.map(|requested| requested.started.send(Ok((process, requested.socket))));
            }
            ZygoteReport::NotStarted(id, errno) => {
                let requested = self.lock().requested.remove(&id);
                let _ = requested.map(|requested| requested.started.send(Err(io::Error::from_raw_os_error(errno))));
            }
            ZygoteReport::Jail(state) => jail_state::reported(state),
            ZygoteReport::Ended(id, status) => {
                let exited = self.lock().exits.remove(&id);
                let _ = exited.map(|exited| exited.send(ExitStatus::from_raw(status)));
            }
        }
    }

    /// Fails everything that waits for the zygote process, which has ended.
    fn connection_lost(&self, why: &io::Error) {
        let mut state = self.lock();
        let (requested, exits) = (std::mem::take(&mut state.requested), std::mem::take(&mut state.exits));
        state.unsent_kills.clear();
        (state.connection, state.first_id) = (None, state.next_id);
        drop(state);
        for requested in requested.into_values() {
            let _ = requested.started.send(Err(io::Error::new(why.kind(), why.to_string())));
        }
        // Dropping the senders tells the receivers that the exit status is unknown.
        drop(exits);
    }
}

impl ZygoteState {
    /// Sends the requests for workers that were not sent yet.
    fn send_requests(&mut self) {
        let unsent: Vec<(u32, OwnedFd)> = self
            .requested
            .iter_mut()
            .filter(|_| self.connection.is_some())
            .filter_map(|(id, requested)| Some((*id, requested.worker_end.take()?)))
            .collect();
        for (id, worker_end) in unsent {
            if !self.send(&ZygoteRequest::Start(id, worker_end))
                && let Some(requested) = self.requested.remove(&id)
            {
                let _ = requested.started.send(Err(io::Error::other("too many workers were requested at once")));
            }
        }
    }

    fn send_kills(&mut self) {
        while let Some(id) = self.unsent_kills.last()
            && self.send(&ZygoteRequest::Kill(*id))
        {
            self.unsent_kills.pop();
        }
    }

    /// Sends a request; false if the socket's buffer is full.
    fn send(&self, request: &ZygoteRequest) -> bool {
        let Some(connection) = &self.connection else { return true };
        match request.send(connection) {
            Err(error) if is_disconnected(&error) => {
                // The supervising thread then notices that the zygote is gone.
                let _ = connection.shutdown(Shutdown::Both);
                true
            }
            sent => sent.is_ok(),
        }
    }
}

fn is_disconnected(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, NotConnected};
    matches!(error.kind(), BrokenPipe | ConnectionReset | NotConnected)
}

/// Why there is no zygote any more.
fn describe_exit(status: ExitStatus) -> String {
    if status.code() == Some(WorkerExit::Threads as i32) {
        return "the zygote process has more than one thread and cannot fork".to_owned();
    }
    format!("the zygote process was lost ({status})")
}

/// A socket for a worker. The standard library sets close-on-exec, so no other child process holds an end open.
fn socket_pair() -> io::Result<(UnixStream, OwnedFd)> {
    let (socket, worker_end) = UnixStream::pair()?;
    socket.set_nonblocking(true)?;
    Ok((socket, worker_end.into()))
}

fn start() -> io::Result<(Child, UnixStream)> {
    let (ours, theirs) = UnixStream::pair()?;
    let child = Command::new(executable()?)
        .arg(ARGUMENT)
        .arg(std::process::id().to_string())
        .env_clear()
        .env(ALLOCATOR_RESERVE.0, ALLOCATOR_RESERVE.1)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok((child, ours))
}

/// The program of this process, even if its file was replaced since.
fn executable() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { std::env::current_exe() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_that_a_slow_zygote_has_no_space_for_are_sent_later() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let zygote = Arc::new(Zygote::default());
        zygote.lock().connection = Some(ours);
        let exits: Vec<_> = (0..10_000).map(|id| zygote.kill(id)).collect();
        assert!(!zygote.lock().unsent_kills.is_empty(), "the socket has no space for all of them");
        for _ in 0..exits.len() {
            let Ok(Some(ZygoteRequest::Kill(id))) = ZygoteRequest::receive(&theirs) else { panic!("not a kill") };
            zygote.handle_report(ZygoteReport::Ended(id, 0));
        }
        for mut exit in exits {
            assert!(exit.try_recv().expect("each has a status").success());
        }
    }

    #[test]
    fn a_lost_zygote_fails_its_requests_and_the_next_one_never_knew_its_workers() {
        let zygote = Arc::new(Zygote::default());
        let mut started = zygote.request_worker();
        zygote.connection_lost(&io::Error::other("no such program"));
        assert_eq!(started.try_recv().unwrap().unwrap_err().to_string(), "no such program");
        let (_theirs, ours) = UnixStream::pair().unwrap();
        zygote.lock().connection = Some(ours);
        assert!(zygote.kill(0).try_recv().is_err());
        assert!(zygote.lock().exits.is_empty());
    }

    #[test]
    fn a_zygote_that_refused_to_fork_says_why() {
        let refused = ExitStatus::from_raw((WorkerExit::Threads as i32) << 8);
        assert_eq!(describe_exit(refused), "the zygote process has more than one thread and cannot fork");
        assert_eq!(describe_exit(ExitStatus::from_raw(9)), "the zygote process was lost (signal: 9 (SIGKILL))");
    }
}
