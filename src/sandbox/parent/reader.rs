//! Reads and checks what a worker sends. A message that breaks the protocol ends the worker.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::net::unix::OwnedReadHalf;
use tokio::time::{Instant, timeout_at};

use super::exit_reason::ExitReason;
use super::mailbox::{Mailbox, ScriptEvent};
use crate::config::CodeMode;
use crate::sandbox::protocol::{MAX_BRANCHES, Received, ToParent, WorkerRequest, receive};
use crate::sandbox::zygote::WorkerProcess;

/// Bytes of a message beside the output it carries.
const ENVELOPE: usize = 64 << 10;
/// Bytes of a call's arguments, even if the output limit is lower.
const MAX_ARGUMENTS: usize = 1 << 20;
/// Bytes of a position. The nesting limit of `parallel` keeps real ones far below.
const MAX_POSITION: usize = 200;

pub(super) struct WorkerReader {
    process: WorkerProcess,
    socket: OwnedReadHalf,
    mailbox: Arc<Mailbox>,
    limits: CodeMode,
    /// Positions of requests, and branches that have ended.
    seen: HashSet<String>,
    calls: usize,
    branches: usize,
}

impl WorkerReader {
    pub(super) fn new(process: WorkerProcess, socket: OwnedReadHalf, mailbox: Arc<Mailbox>, limits: CodeMode) -> Self {
        WorkerReader { process, socket, mailbox, limits, seen: HashSet::new(), calls: 0, branches: 0 }
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
                let branch = self.branch_of(&at)?;
                self.count(&request)?;
                self.mailbox.add(&branch, ScriptEvent::WorkerRequest { at, want: request });
            }
            ToParent::BranchEnded { branch } => {
                if branch.is_empty() || !self.seen.insert(branch.clone()) {
                    return Err(ExitReason::Confused("end of a branch that cannot end"));
                }
                self.mailbox.add(&branch, ScriptEvent::End);
            }
            ToParent::Printed(text) => self.mailbox.print(&text, self.limits.max_output)?,
            ToParent::Done(_) => {}
        }
        Ok(())
    }

    fn count(&mut self, request: &WorkerRequest) -> Result<(), ExitReason> {
        match request {
            WorkerRequest::Call { .. } | WorkerRequest::Search { .. } => {
                self.calls += 1;
                if self.calls > self.limits.max_calls {
                    return Err(ExitReason::Calls);
                }
            }
            WorkerRequest::Fork { count, limit } => {
                self.branches = self.branches.saturating_add(*count);
                if self.branches > MAX_BRANCHES || *limit == 0 {
                    return Err(ExitReason::Confused("too many branches"));
                }
            }
        }
        Ok(())
    }

    /// The branch that a position belongs to. Each position may occur once.
    fn branch_of(&mut self, at: &str) -> Result<String, ExitReason> {
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !at.split('.').all(is_number) || at.len() > MAX_POSITION || !self.seen.insert(at.to_owned()) {
            return Err(ExitReason::Confused("invalid or repeated position"));
        }
        Ok(at[..at.rfind('.').map_or(0, |dot| dot + 1)].to_owned())
    }
}
