//! One script under way, as its parent sees it. Whatever the worker says is checked; what makes no sense ends it.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use tokio::net::UnixStream;
use tokio::sync::OwnedSemaphorePermit;

use super::Ending;
use super::message::{Done, Heard, ToParent, ToWorker, listen, tell};
use super::process::Process;
use crate::config::CodeMode;
use crate::json::{Raw, RawRef};

/// What a message has beside the output it carries.
const ENVELOPE: usize = 64 << 10;
/// Longer positions no script can have: it would need a branch in a branch for each part.
const LONGEST_POSITION: usize = 1000;

pub struct Run {
    process: Option<Process>,
    stream: UnixStream,
    limits: CodeMode,
    deadline: Instant,
    asked: HashSet<String>,
    calls: usize,
    _place: OwnedSemaphorePermit,
}

/// What a script wants next.
#[derive(Debug)]
pub enum Event {
    Call { at: String, tool: String, arguments: Raw },
    Search { at: String, query: String, limit: usize },
    Done(Done),
}

impl Run {
    pub(super) fn new(
        process: Process,
        stream: UnixStream,
        place: OwnedSemaphorePermit,
        limits: &CodeMode,
        deadline: Instant,
    ) -> Self {
        let (asked, limits) = (HashSet::new(), limits.clone());
        Run { process: Some(process), stream, limits, deadline, asked, calls: 0, _place: place }
    }

    /// Gives the script more time: that for which it had to wait for somebody who may take his.
    pub fn extend(&mut self, waited: Duration) {
        self.deadline += waited;
    }

    pub async fn next(&mut self) -> Result<Event, Ending> {
        let largest = usize::try_from(self.limits.max_output).unwrap_or(usize::MAX).saturating_add(ENVELOPE);
        let deadline = tokio::time::Instant::from_std(self.deadline);
        let heard = tokio::time::timeout_at(deadline, listen(&mut self.stream, largest)).await;
        let message = match heard {
            Err(_) => return Err(self.end(Ending::Time)),
            Ok(Heard::Gone) => return Err(self.lost().await),
            Ok(Heard::Nonsense(why)) => return Err(self.end(Ending::Confused(why))),
            Ok(Heard::Message(message)) => message,
        };
        match message {
            ToParent::Done(done) => {
                self.process = None;
                Ok(Event::Done(done))
            }
            ToParent::Call { at, tool, arguments } => {
                self.calls += 1;
                if self.calls > self.limits.max_calls {
                    return Err(self.end(Ending::Calls));
                }
                self.asks(&at)?;
                Ok(Event::Call { at, tool, arguments })
            }
            ToParent::Search { at, query, limit } => {
                self.calls += 1;
                if self.calls > self.limits.max_calls {
                    return Err(self.end(Ending::Calls));
                }
                self.asks(&at)?;
                Ok(Event::Search { at, query, limit })
            }
        }
    }

    pub async fn answer(&mut self, at: &str, value: &RawRef) -> Result<(), Ending> {
        self.tell(&ToWorker::Answer { at: at.to_owned(), value: value.to_owned() }).await
    }

    pub(super) async fn tell(&mut self, message: &ToWorker) -> Result<(), Ending> {
        let deadline = tokio::time::Instant::from_std(self.deadline);
        match tokio::time::timeout_at(deadline, tell(&mut self.stream, message)).await {
            Ok(Ok(())) => Ok(()),
            // Why it is gone is known only to the process.
            Ok(Err(_)) => Err(self.lost().await),
            Err(_) => Err(self.end(Ending::Time)),
        }
    }

    /// A position is asked once.
    fn asks(&mut self, at: &str) -> Result<(), Ending> {
        let parts = at.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
        if parts && at.len() <= LONGEST_POSITION && self.asked.insert(at.to_owned()) {
            return Ok(());
        }
        Err(self.end(Ending::Confused("it asked at a place where it cannot be")))
    }

    fn end(&mut self, ending: Ending) -> Ending {
        self.process = None;
        ending
    }

    async fn lost(&mut self) -> Ending {
        match self.process.take() {
            Some(process) => process.ended().await.map_or(Ending::Lost("no trace".to_owned()), Ending::of),
            None => Ending::Lost("it had ended before".to_owned()),
        }
    }
}
