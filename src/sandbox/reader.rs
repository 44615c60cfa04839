//! Listens to a worker. Whatever it says is checked; what makes no sense ends it.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::net::unix::OwnedReadHalf;
use tokio::time::{Instant, timeout_at};

use super::ExitReason;
use super::message::{Heard, MOST_BRANCHES, ToParent, WorkerRequest, listen};
use super::process::Process;
use super::run::{Board, Event};
use crate::config::CodeMode;

/// What a message has beside the output it carries.
const ENVELOPE: usize = 64 << 10;
/// Arguments of a call, however little a script may put out.
const LARGEST_ARGUMENTS: usize = 1 << 20;
/// Longer positions no script can have: it would need a branch in a branch for each part.
const LONGEST_POSITION: usize = 200;

pub(super) struct Reader {
    process: Process,
    stream: OwnedReadHalf,
    board: Arc<Board>,
    limits: CodeMode,
    seen: HashSet<String>,
    calls: usize,
    branches: usize,
}

impl Reader {
    pub(super) fn new(process: Process, stream: OwnedReadHalf, board: Arc<Board>, limits: CodeMode) -> Self {
        Reader { process, stream, board, limits, seen: HashSet::new(), calls: 0, branches: 0 }
    }

    /// Until the worker has said its last word, or must not say more.
    pub(super) async fn run(mut self, deadline: Instant) {
        let output = usize::try_from(self.limits.max_output).unwrap_or(usize::MAX);
        let largest = output.max(LARGEST_ARGUMENTS).saturating_add(ENVELOPE);
        let ending = loop {
            match timeout_at(deadline, listen(&mut self.stream, largest)).await {
                Err(_) => break ExitReason::Time,
                Ok(Heard::Gone) => {
                    let status = self.process.ended().await;
                    self.board.end(status.map_or_else(|| ExitReason::Lost("no trace".to_owned()), ExitReason::of));
                    return;
                }
                Ok(Heard::Nonsense(why)) => break ExitReason::Confused(why),
                Ok(Heard::Message(ToParent::Done(last))) => return self.board.add("", Event::Done(last)),
                Ok(Heard::Message(message)) => {
                    if let Err(ending) = self.take(message) {
                        break ending;
                    }
                }
            }
        };
        // First the order to end it: who reads of the end may count on that.
        drop(self.process);
        self.board.end(ending);
    }

    fn take(&mut self, message: ToParent) -> Result<(), ExitReason> {
        match message {
            ToParent::WorkerRequest { at, want } => {
                let line = self.place(&at)?;
                self.count(&want)?;
                self.board.add(&line, Event::WorkerRequest { at, want });
            }
            ToParent::End { line } => {
                if line.is_empty() || !self.seen.insert(line.clone()) {
                    return Err(ExitReason::Confused("it ended a branch that it cannot end"));
                }
                self.board.add(&line, Event::End);
            }
            ToParent::Printed(text) => self.board.print(&text, self.limits.max_output)?,
            ToParent::Done(_) => {}
        }
        Ok(())
    }

    fn count(&mut self, want: &WorkerRequest) -> Result<(), ExitReason> {
        match want {
            WorkerRequest::Call { .. } | WorkerRequest::Search { .. } => {
                self.calls += 1;
                if self.calls > self.limits.max_calls {
                    return Err(ExitReason::Calls);
                }
            }
            WorkerRequest::Fork { count, limit } => {
                self.branches = self.branches.saturating_add(*count);
                if self.branches > MOST_BRANCHES || *limit == 0 {
                    return Err(ExitReason::Confused("it asked for more branches than there can be"));
                }
            }
        }
        Ok(())
    }

    /// The line of a position. Each is come to once.
    fn place(&mut self, at: &str) -> Result<String, ExitReason> {
        let numbers = at.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
        if !numbers || at.len() > LONGEST_POSITION || !self.seen.insert(at.to_owned()) {
            return Err(ExitReason::Confused("it came to a place where it cannot be"));
        }
        Ok(at[..at.rfind('.').map_or(0, |dot| dot + 1)].to_owned())
    }
}
