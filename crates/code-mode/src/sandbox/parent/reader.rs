//! Reads what a worker sends. A message that breaks the protocol ends the worker.

use std::sync::Arc;

use tokio::net::unix::OwnedReadHalf;
use tokio::time::{Instant, timeout_at};

use super::exit_reason::ExitReason;
use super::mailbox::{Mailbox, ScriptEvent};
use super::messages::{WorkerMessage, WorkerMessages};
use crate::sandbox::zygote::WorkerProcess;
use proxy_config::CodeMode;

pub(super) struct WorkerReader {
    process: WorkerProcess,
    messages: WorkerMessages<OwnedReadHalf>,
    mailbox: Arc<Mailbox>,
    max_output: u64,
}

impl WorkerReader {
    pub(super) fn new(process: WorkerProcess, socket: OwnedReadHalf, mailbox: Arc<Mailbox>, limits: &CodeMode) -> Self {
        let messages = WorkerMessages::new(socket, limits);
        WorkerReader { process, messages, mailbox, max_output: limits.max_output }
    }

    /// Reads until the script is done, the deadline has passed, or the worker breaks the protocol.
    pub(super) async fn run(mut self, deadline: Instant) {
        let reason = loop {
            let message = match timeout_at(deadline, self.messages.next()).await {
                Err(_) => break ExitReason::Time,
                Ok(Err(reason)) => break reason,
                Ok(Ok(message)) => message,
            };
            match message {
                WorkerMessage::Closed => {
                    let status = self.process.exit_status().await;
                    let unknown = || ExitReason::Lost("exit status unknown".to_owned());
                    self.mailbox.close(status.map_or_else(unknown, ExitReason::of));
                    return;
                }
                WorkerMessage::Event(branch, event) => {
                    let is_done = matches!(event, ScriptEvent::Done(_));
                    self.mailbox.add(&branch, event);
                    if is_done {
                        return;
                    }
                }
                WorkerMessage::Printed(text) => {
                    if let Err(reason) = self.mailbox.print(&text, self.max_output) {
                        break reason;
                    }
                }
            }
        };
        // The worker is killed before anyone learns of its end.
        drop(self.process);
        self.mailbox.close(reason);
    }
}
