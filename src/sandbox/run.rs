//! One script under way, as its parent sees it: what it wants, sorted by its lines of control, each of which waits for its
//! own answers only.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::{Notify, OwnedSemaphorePermit};
use tokio::task::JoinHandle;

use super::Ending;
use super::message::{Done, ToWorker, tell};
use super::process::Process;
use super::reader::Reader;
use crate::config::CodeMode;
use crate::json::{Raw, RawRef};

/// Dropping it ends the worker.
pub struct Run {
    board: Arc<Board>,
    writer: tokio::sync::Mutex<OwnedWriteHalf>,
    reader: JoinHandle<()>,
    deadline: Instant,
    _place: OwnedSemaphorePermit,
}

/// What one line of control of a script wants next.
#[derive(Debug)]
pub enum Event {
    Call {
        at: String,
        tool: String,
        arguments: Raw,
    },
    Search {
        at: String,
        query: String,
        limit: usize,
    },
    /// From here on so many lines go on beside each other, at most `limit` at once; this one waits for them.
    Fork {
        at: String,
        count: usize,
        limit: usize,
    },
    /// This line has come to its end.
    End,
    /// The whole script has.
    Done(Done),
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
    ending: Option<Ending>,
}

impl Board {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, line: &str, event: Event) {
        self.lock().events.entry(line.to_owned()).or_default().push_back(event);
        self.news.notify_waiters();
    }

    pub(super) fn end(&self, ending: Ending) {
        self.lock().ending.get_or_insert(ending);
        self.news.notify_waiters();
    }

    async fn next(&self, line: &str) -> Result<Event, Ending> {
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
    pub(super) fn new(process: Process, stream: UnixStream, place: OwnedSemaphorePermit, limits: &CodeMode) -> Self {
        let board = Arc::new(Board::default());
        let deadline = Instant::now() + limits.timeout;
        let (read, write) = stream.into_split();
        let reader = Reader::new(process, read, Arc::clone(&board), limits.clone());
        let reader = tokio::spawn(reader.run(tokio::time::Instant::from_std(deadline)));
        Run { board, writer: tokio::sync::Mutex::new(write), reader, deadline, _place: place }
    }

    /// What a line of control wants; the first one is `""`.
    pub async fn next(&self, line: &str) -> Result<Event, Ending> {
        self.board.next(line).await
    }

    pub async fn answer(&self, at: &str, value: &RawRef) {
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

    /// Why it ended, if it was not by its own last word.
    pub fn ending(&self) -> Option<Ending> {
        self.board.lock().ending.clone()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.reader.abort();
    }
}
