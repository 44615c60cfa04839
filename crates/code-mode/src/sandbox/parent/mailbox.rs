//! The unread messages of a worker, by branch: each branch of the script is served on its own.

use std::collections::{HashMap, VecDeque};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::exit_reason::ExitReason;
use crate::sandbox::protocol::{ScriptResult, WorkerRequest};

/// An event of one branch of a script.
#[derive(Debug)]
pub enum ScriptEvent {
    WorkerRequest {
        at: String,
        want: WorkerRequest,
    },
    /// This branch has ended.
    End,
    /// The whole script has ended.
    Done(ScriptResult),
}

#[derive(Debug, Default)]
pub(super) struct Mailbox {
    contents: Mutex<MailboxContents>,
    changed: Notify,
    /// Cancelled when the worker has ended before the script was done.
    lost: CancellationToken,
}

#[derive(Debug, Default)]
struct MailboxContents {
    /// Unread events of each branch.
    events: HashMap<String, VecDeque<ScriptEvent>>,
    exit_reason: Option<ExitReason>,
    /// Printed text of all branches, in order of arrival.
    printed: String,
}

impl Mailbox {
    fn lock(&self) -> MutexGuard<'_, MailboxContents> {
        self.contents.lock()
    }

    pub(super) fn add(&self, branch: &str, event: ScriptEvent) {
        self.lock().events.entry(branch.to_owned()).or_default().push_back(event);
        self.changed.notify_waiters();
    }

    /// Adds text that the script printed; fails if all of it has more than `limit` bytes.
    pub(super) fn print(&self, text: &str, limit: u64) -> Result<(), ExitReason> {
        let mut contents = self.lock();
        contents.printed.push_str(text);
        if contents.printed.len() as u64 > limit { Err(ExitReason::Output) } else { Ok(()) }
    }

    /// Records that the worker has ended. The first reason counts.
    pub(super) fn close(&self, reason: ExitReason) {
        self.lock().exit_reason.get_or_insert(reason);
        self.changed.notify_waiters();
        self.lost.cancel();
    }

    pub(super) fn lost(&self) -> &CancellationToken {
        &self.lost
    }

    /// Waits for the next event of a branch; fails if the worker has ended and there is none.
    pub(super) async fn next(&self, branch: &str) -> Result<ScriptEvent, ExitReason> {
        loop {
            let changed = self.changed.notified();
            let mut changed = std::pin::pin!(changed);
            // Registers before the contents are read, so that no change in between is missed.
            changed.as_mut().enable();
            {
                let mut contents = self.lock();
                if let Some(event) = contents.events.get_mut(branch).and_then(VecDeque::pop_front) {
                    return Ok(event);
                }
                if let Some(reason) = &contents.exit_reason {
                    return Err(reason.clone());
                }
            }
            changed.await;
        }
    }

    /// Takes what was printed so far.
    pub(super) fn take_printed(&self) -> String {
        std::mem::take(&mut self.lock().printed)
    }

    pub(super) fn exit_reason(&self) -> Option<ExitReason> {
        self.lock().exit_reason.clone()
    }
}
