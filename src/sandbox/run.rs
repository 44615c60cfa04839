//! One script under way, as its parent sees it: what it wants, sorted by its lines of control, each of which waits for its
//! own answers only.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::message::{ScriptResult, ToWorker, WorkerRequest, tell};
use super::places::Place;
use super::process::Process;
use super::reader::Reader;
use super::{ExitReason, job};
use crate::config::CodeMode;
use crate::json::{Raw, RawRef};

/// Dropping it ends the worker.
pub struct Run {
    board: Arc<Board>,
    writer: tokio::sync::Mutex<OwnedWriteHalf>,
    reader: JoinHandle<()>,
    deadline: Instant,
    _place: Place,
}

/// What comes next of one line of control of a script.
#[derive(Debug)]
pub enum Event {
    WorkerRequest {
        at: String,
        want: WorkerRequest,
    },
    /// This line has come to its end.
    End,
    /// The whole script has.
    Done(ScriptResult),
}

/// What was heard of a worker and has not been looked at.
#[derive(Debug, Default)]
pub(super) struct Board {
    state: Mutex<State>,
    news: Notify,
}

#[derive(Debug, Default)]
struct State {
    events: HashMap<String, VecDeque<Event>>,
    ending: Option<ExitReason>,
    /// By all lines, as it came.
    printed: String,
}

impl Board {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, line: &str, event: Event) {
        self.lock().events.entry(line.to_owned()).or_default().push_back(event);
        self.news.notify_waiters();
    }

    /// More that the script printed; all of it may have so many bytes.
    pub(super) fn print(&self, text: &str, limit: u64) -> Result<(), ExitReason> {
        let mut state = self.lock();
        state.printed.push_str(text);
        if state.printed.len() as u64 > limit { Err(ExitReason::Output) } else { Ok(()) }
    }

    pub(super) fn end(&self, ending: ExitReason) {
        self.lock().ending.get_or_insert(ending);
        self.news.notify_waiters();
    }

    async fn next(&self, line: &str) -> Result<Event, ExitReason> {
        loop {
            let news = self.news.notified();
            let mut news = std::pin::pin!(news);
            // Before the look, so that nothing is missed in between.
            news.as_mut().enable();
            {
                let mut state = self.lock();
                if let Some(event) = state.events.get_mut(line).and_then(VecDeque::pop_front) {
                    return Ok(event);
                }
                if let Some(ending) = &state.ending {
                    return Err(ending.clone());
                }
            }
            news.await;
        }
    }
}

impl Run {
    pub(super) fn new(process: Process, stream: UnixStream, place: Place, limits: &CodeMode) -> Self {
        let board = Arc::new(Board::default());
        let deadline = Instant::now() + limits.timeout;
        let (read, write) = stream.into_split();
        let reader = Reader::new(process, read, Arc::clone(&board), limits.clone());
        let reader = tokio::spawn(reader.run(tokio::time::Instant::from_std(deadline)));
        Run { board, writer: tokio::sync::Mutex::new(write), reader, deadline, _place: place }
    }

    /// What a line of control wants; the first one is `""`.
    pub async fn next(&self, line: &str) -> Result<Event, ExitReason> {
        self.board.next(line).await
    }

    /// One whose time is over gets no more answers: what is told of it is that, and not what a call came to because of it.
    pub async fn answer(&self, at: &str, value: &RawRef) {
        if self.time_left().is_zero() {
            return;
        }
        self.tell(&ToWorker::Answer { at: at.to_owned(), value: value.to_owned() }).await;
    }

    /// A worker that is gone, or does not read, is noticed by whoever listens to it.
    pub(super) async fn tell(&self, message: &ToWorker) {
        let mut writer = self.writer.lock().await;
        let _ =
            tokio::time::timeout_at(tokio::time::Instant::from_std(self.deadline), tell(&mut *writer, message)).await;
    }

    /// How long it may still go on.
    pub fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// The result of the tool that ran it: what the script returned as `result`, and `printed` where something was; or
    /// what went wrong, with all that was printed until then.
    pub fn result(&self, end: Result<ScriptResult, ExitReason>, limits: &CodeMode) -> Raw {
        let printed = std::mem::take(&mut self.board.lock().printed);
        match end {
            Ok(Ok(value)) => job::returned(&value, printed),
            Ok(Err(fault)) => job::failed(fault.told(), &printed),
            Err(ending) => job::failed(ending.told(limits), &printed),
        }
    }

    /// Why it ended, if it was not by its own last word.
    pub fn ending(&self) -> Option<ExitReason> {
        self.board.lock().ending.clone()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.reader.abort();
    }
}
