//! The proxy's side: it orders workers, and has them ended. A nursery that dies takes its workers with it; the next order
//! starts another.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::line::{Order, Report};
use crate::sandbox::ARGUMENT;
use crate::sandbox::process::Process;

/// The allocator would reserve more than a worker may map.
const ARENA: (&str, &str) = ("MIMALLOC_ARENA_RESERVE", "16MiB");

pub(in crate::sandbox) type Started = io::Result<(Process, UnixStream)>;

#[derive(Debug, Default)]
pub(in crate::sandbox) struct Zygote {
    state: Mutex<State>,
    wanted: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// To the nursery of now.
    line: Option<UnixStream>,
    next: u32,
    /// The first that can be of the nursery of now: what went before it has ended with another.
    first: u32,
    /// Workers that were ordered and not heard of, oldest first.
    ordered: BTreeMap<u32, Ordered>,
    /// Those whose end is wanted.
    ending: HashMap<u32, oneshot::Sender<ExitStatus>>,
    /// Orders to end one that the line has no room for: it is behind, and is told with its next report.
    waiting: Vec<u32>,
}

#[derive(Debug)]
struct Ordered {
    ours: UnixStream,
    /// Until it is sent.
    theirs: Option<OwnedFd>,
    told: oneshot::Sender<Started>,
}

impl Zygote {
    /// Starts the thread that tends it; the process itself is started by the first order. That process ends with the
    /// thread that started it, so that is one that stays.
    pub(in crate::sandbox) fn new() -> io::Result<Arc<Self>> {
        let nursery = Arc::new(Zygote::default());
        let tended = Arc::clone(&nursery);
        std::thread::Builder::new().name("sandbox".into()).stack_size(256 << 10).spawn(move || tended.tend())?;
        Ok(nursery)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Orders a worker.
    pub(in crate::sandbox) fn order(&self) -> oneshot::Receiver<Started> {
        let (told, receiver) = oneshot::channel();
        match pipe() {
            Ok((ours, theirs)) => {
                let mut state = self.lock();
                let number = state.next;
                state.next = number.wrapping_add(1);
                state.ordered.insert(number, Ordered { ours, theirs: Some(theirs), told });
                state.send_ordered();
                self.wanted.notify_one();
            }
            // Whoever wanted it may have gone.
            Err(error) => drop(told.send(Err(error))),
        }
        receiver
    }

    /// Has a worker ended; what is returned comes to nothing if there is no nursery to tell how.
    pub(in crate::sandbox) fn end(&self, number: u32) -> oneshot::Receiver<ExitStatus> {
        let (told, receiver) = oneshot::channel();
        let mut state = self.lock();
        if state.line.is_some() && number >= state.first {
            state.ending.insert(number, told);
            state.waiting.push(number);
            state.send_waiting();
        }
        receiver
    }

    fn tend(self: &Arc<Self>) {
        loop {
            drop(self.wanted.wait_while(self.lock(), |state| state.ordered.is_empty()));
            let lost = match start() {
                Ok((mut child, line)) => {
                    self.listen(&line);
                    let _ = child.kill();
                    match child.wait() {
                        Ok(status) => io::Error::other(format!("the process they come from was lost ({status})")),
                        Err(error) => error,
                    }
                }
                Err(error) => error,
            };
            self.is_lost(&lost);
        }
    }

    /// Until the nursery is gone.
    fn listen(self: &Arc<Self>, line: &UnixStream) {
        match line.try_clone() {
            Ok(line) => {
                let mut state = self.lock();
                state.line = Some(line);
                state.send_ordered();
            }
            Err(_) => return,
        }
        while let Ok(report) = Report::receive(line) {
            self.heard(report);
        }
    }

    fn heard(self: &Arc<Self>, report: Report) {
        self.lock().send_waiting();
        match report {
            Report::Started(number) => {
                let ordered = self.lock().ordered.remove(&number);
                let process = Process::new(number, Arc::clone(self));
                // Whoever wanted it may have gone; then it ends here.
                let _ = ordered.map(|ordered| ordered.told.send(Ok((process, ordered.ours))));
            }
            Report::NotStarted(number, error) => {
                let ordered = self.lock().ordered.remove(&number);
                let _ = ordered.map(|ordered| ordered.told.send(Err(io::Error::from_raw_os_error(error))));
            }
            Report::Ended(number, status) => {
                let ending = self.lock().ending.remove(&number);
                let _ = ending.map(|ending| ending.send(ExitStatus::from_raw(status)));
            }
        }
    }

    fn is_lost(&self, why: &io::Error) {
        let mut state = self.lock();
        let (ordered, ending) = (std::mem::take(&mut state.ordered), std::mem::take(&mut state.ending));
        state.waiting.clear();
        (state.line, state.first) = (None, state.next);
        drop(state);
        for ordered in ordered.into_values() {
            let _ = ordered.told.send(Err(io::Error::new(why.kind(), why.to_string())));
        }
        // Who waits to be told how a worker ended learns that nobody knows.
        drop(ending);
    }
}

impl State {
    /// Sends what was ordered before there was a nursery, or just now.
    fn send_ordered(&mut self) {
        let unsent: Vec<(u32, OwnedFd)> = self
            .ordered
            .iter_mut()
            .filter(|_| self.line.is_some())
            .filter_map(|(number, ordered)| Some((*number, ordered.theirs.take()?)))
            .collect();
        for (number, theirs) in unsent {
            if !self.send(&Order::Start(number, theirs))
                && let Some(ordered) = self.ordered.remove(&number)
            {
                let _ = ordered.told.send(Err(io::Error::other("too many are wanted at once")));
            }
        }
    }

    fn send_waiting(&mut self) {
        while let Some(number) = self.waiting.last()
            && self.send(&Order::End(*number))
        {
            self.waiting.pop();
        }
    }

    /// False if there is no room for it.
    fn send(&self, order: &Order) -> bool {
        let Some(line) = &self.line else { return true };
        match order.send(line) {
            Err(error) if is_gone(&error) => {
                // Its listener learns of it, and clears up.
                let _ = line.shutdown(Shutdown::Both);
                true
            }
            sent => sent.is_ok(),
        }
    }
}

fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, NotConnected};
    matches!(error.kind(), BrokenPipe | ConnectionReset | NotConnected)
}

/// Standard library sockets are closed on exec, so no other child holds one of these open.
fn pipe() -> io::Result<(UnixStream, OwnedFd)> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    Ok((ours, theirs.into()))
}

fn start() -> io::Result<(Child, UnixStream)> {
    let (ours, theirs) = UnixStream::pair()?;
    let child = Command::new(executable()?)
        .arg(ARGUMENT)
        .arg(std::process::id().to_string())
        .env_clear()
        .env(ARENA.0, ARENA.1)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok((child, ours))
}

/// This very program, also if the file was replaced since.
fn executable() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { std::env::current_exe() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nursery_that_is_behind_is_told_later_what_to_end() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let nursery = Arc::new(Zygote::default());
        nursery.lock().line = Some(ours);
        let told: Vec<_> = (0..10_000).map(|number| nursery.end(number)).collect();
        assert!(!nursery.lock().waiting.is_empty(), "there is no room for so many");
        for _ in 0..told.len() {
            let Ok(Some(Order::End(number))) = Order::receive(&theirs) else { panic!("it is to end one") };
            nursery.heard(Report::Ended(number, 0));
        }
        for mut told in told {
            assert!(told.try_recv().expect("each is told").success());
        }
    }

    #[test]
    fn who_waits_for_a_nursery_that_is_lost_is_told_so() {
        let nursery = Arc::new(Zygote::default());
        let mut ordered = nursery.order();
        nursery.is_lost(&io::Error::other("no such program"));
        assert_eq!(ordered.try_recv().unwrap().unwrap_err().to_string(), "no such program");
        let (_theirs, ours) = UnixStream::pair().unwrap();
        nursery.lock().line = Some(ours);
        assert!(nursery.end(0).try_recv().is_err(), "the next nursery never knew it");
        assert!(nursery.lock().ending.is_empty());
    }
}
