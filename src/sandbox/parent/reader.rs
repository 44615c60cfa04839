//! Reads and checks what a worker sends. A message that breaks the protocol ends the worker.

use std::sync::Arc;

use tokio::net::unix::OwnedReadHalf;
use tokio::time::{Instant, timeout_at};

use super::account::Account;
use super::exit_reason::ExitReason;
use super::mailbox::{Mailbox, ScriptEvent};
use crate::config::CodeMode;
use crate::sandbox::protocol::{Received, ToParent, receive};
use crate::sandbox::zygote::WorkerProcess;

/// Bytes of a message beside the output it carries.
const ENVELOPE: usize = 64 << 10;
/// Bytes of a call's arguments, even if the output limit is lower.
const MAX_ARGUMENTS: usize = 1 << 20;

pub(super) struct WorkerReader {
    process: WorkerProcess,
    socket: OwnedReadHalf,
    mailbox: Arc<Mailbox>,
    limits: CodeMode,
    account: Account,
}

impl WorkerReader {
    pub(super) fn new(process: WorkerProcess, socket: OwnedReadHalf, mailbox: Arc<Mailbox>, limits: CodeMode) -> Self {
        WorkerReader { process, socket, mailbox, account: Account::new(limits.max_calls), limits }
    }

    /// Reads until the script is done, the deadline has passed, or the worker breaks the protocol.
    pub(super) async fn run(mut self, deadline: Instant) {
        let output = usize::try_from(self.limits.max_output).unwrap_or(usize::MAX);
        let max_bytes = output.max(MAX_ARGUMENTS).saturating_add(ENVELOPE);
        let reason = loop {
            match timeout_at(deadline, receive(&mut self.socket, max_bytes)).await {
                Err(_) => break ExitReason::Time,
                Ok(Received::Closed) => {
                    let status = self.process.exit_status().await;
                    let unknown = || ExitReason::Lost("exit status unknown".to_owned());
                    self.mailbox.close(status.map_or_else(unknown, ExitReason::of));
                    return;
                }
                Ok(Received::Invalid(why)) => break ExitReason::Confused(why),
                Ok(Received::Message(ToParent::Done(result))) => {
                    return self.mailbox.add("", ScriptEvent::Done(result));
                }
                Ok(Received::Message(message)) => {
                    if let Err(reason) = self.accept(message) {
                        break reason;
                    }
                }
            }
        };
        // The worker is killed before anyone learns of its end.
        drop(self.process);
        self.mailbox.close(reason);
    }

    fn accept(&mut self, message: ToParent) -> Result<(), ExitReason> {
        match message {
            ToParent::Request { at, request } => {
                let branch = self.account.request(&at, &request)?;
                self.mailbox.add(&branch, ScriptEvent::WorkerRequest { at, want: request });
            }
            ToParent::BranchEnded { branch } => {
                self.account.end(&branch)?;
                self.mailbox.add(&branch, ScriptEvent::End);
            }
            ToParent::Printed(text) => self.mailbox.print(&text, self.limits.max_output)?,
            ToParent::Done(_) => {}
        }
        Ok(())
    }
}
