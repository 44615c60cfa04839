//! A script that runs in a worker, as the proxy sees it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::exit_reason::ExitReason;
use super::mailbox::{Mailbox, ScriptEvent};
use super::permits::ScriptPermit;
use super::reader::WorkerReader;
use super::result;
use crate::sandbox::protocol::{ScriptResult, ToWorker, send};
use crate::sandbox::zygote::WorkerProcess;
use proxy_config::CodeMode;
use proxy_json::{Raw, RawRef};

/// A running script. Dropping this kills its worker.
pub struct ScriptRun {
    mailbox: Arc<Mailbox>,
    writer: tokio::sync::Mutex<OwnedWriteHalf>,
    reader: JoinHandle<()>,
    deadline: Instant,
    _permit: ScriptPermit,
}

impl ScriptRun {
    pub(super) fn new(process: WorkerProcess, socket: UnixStream, permit: ScriptPermit, limits: &CodeMode) -> Self {
        let mailbox = Arc::new(Mailbox::default());
        let deadline = Instant::now() + limits.timeout;
        let (read, write) = socket.into_split();
        let reader = WorkerReader::new(process, read, Arc::clone(&mailbox), limits);
        let reader = tokio::spawn(reader.run(tokio::time::Instant::from_std(deadline)));
        ScriptRun { mailbox, writer: tokio::sync::Mutex::new(write), reader, deadline, _permit: permit }
    }

    /// What a branch of the script does next; the script itself is the branch `""`.
    pub async fn next(&self, branch: &str) -> Result<ScriptEvent, ExitReason> {
        self.mailbox.next(branch).await
    }

    /// Answers the request at a position. A script past its deadline gets no answer: it ends with the timeout, and not
    /// with an error of the call that the timeout cut short.
    pub async fn answer(&self, at: &str, value: &RawRef) {
        if self.time_left().is_zero() {
            return;
        }
        self.send(&ToWorker::Answer { at: at.to_owned(), value: value.to_owned() }).await;
    }

    /// Sends a message. If the worker is gone or does not read, its reader reports that.
    pub(super) async fn send(&self, message: &ToWorker) {
        let mut writer = self.writer.lock().await;
        let _ =
            tokio::time::timeout_at(tokio::time::Instant::from_std(self.deadline), send(&mut *writer, message)).await;
    }

    /// The time until the deadline.
    pub fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// The result of the tool that ran the script: what the script returned as `result`, and `printed` if it printed
    /// something; or the error, with everything that was printed before.
    pub fn result(&self, end: Result<ScriptResult, ExitReason>, limits: &CodeMode) -> Raw {
        let printed = self.mailbox.take_printed();
        match end {
            Ok(Ok(value)) => result::success(&value, printed),
            Ok(Err(error)) => result::failure(error.render(), &printed),
            Err(reason) => result::failure(reason.message(limits), &printed),
        }
    }

    /// Cancelled when the worker has ended before the script was done: nobody waits for answers any more.
    pub fn lost(&self) -> &CancellationToken {
        self.mailbox.lost()
    }

    /// Why the worker ended, if it did so before the script was done.
    pub fn ending(&self) -> Option<ExitReason> {
        self.mailbox.exit_reason()
    }
}

impl Drop for ScriptRun {
    fn drop(&mut self) {
        self.reader.abort();
    }
}
