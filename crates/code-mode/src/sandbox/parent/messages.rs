//! Validates messages from a worker. Nothing that a worker sends is trusted.

use tokio::io::AsyncRead;

use super::account::Account;
use super::exit_reason::ExitReason;
use super::mailbox::ScriptEvent;
use crate::sandbox::protocol::{Received, ToParent, receive};
use proxy_config::CodeMode;

/// Bytes of a message beside the output it carries.
const ENVELOPE: usize = 64 << 10;
/// Bytes of a call's arguments, even if the output limit is lower.
const MAX_ARGUMENTS: usize = 1 << 20;

/// One message of a worker that keeps the rules.
#[derive(Debug)]
pub enum WorkerMessage {
    /// An event of this branch.
    Event(String, ScriptEvent),
    /// Text that the script printed.
    Printed(String),
    /// The worker has closed the connection.
    Closed,
}

/// Reads the messages of one worker.
pub struct WorkerMessages<R> {
    socket: R,
    account: Account,
    max_bytes: usize,
}

impl<R: AsyncRead + Unpin> WorkerMessages<R> {
    pub fn new(socket: R, limits: &CodeMode) -> Self {
        let output = usize::try_from(limits.max_output).unwrap_or(usize::MAX);
        let max_bytes = output.max(MAX_ARGUMENTS).saturating_add(ENVELOPE);
        WorkerMessages { socket, account: Account::new(limits.max_calls), max_bytes }
    }

    /// The next message. Fails if the worker breaks the protocol or asks for too much.
    pub async fn next(&mut self) -> Result<WorkerMessage, ExitReason> {
        match receive(&mut self.socket, self.max_bytes).await {
            Received::Closed => Ok(WorkerMessage::Closed),
            Received::Invalid(why) => Err(ExitReason::Confused(why)),
            Received::Message(ToParent::Request { at, request }) => {
                let branch = self.account.request(&at, &request)?;
                Ok(WorkerMessage::Event(branch, ScriptEvent::WorkerRequest { at, want: request }))
            }
            Received::Message(ToParent::BranchEnded { branch }) => {
                self.account.end(&branch)?;
                Ok(WorkerMessage::Event(branch, ScriptEvent::End))
            }
            Received::Message(ToParent::Printed(text)) => Ok(WorkerMessage::Printed(text)),
            Received::Message(ToParent::Done(result)) => {
                Ok(WorkerMessage::Event(String::new(), ScriptEvent::Done(result)))
            }
        }
    }
}
