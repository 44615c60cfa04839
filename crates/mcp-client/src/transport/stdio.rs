//! The stdio transport: a child process that reads and writes one message per line.

use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::process::ChildStdout;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::cancel_on_drop::CancelOnDrop;
use super::child_stdin::{InputRead, WatchedStdin};
use super::error::TransportError;
use super::outgoing::Outgoing;
use super::pending::{PendingRequests, ReplyAction};
use super::signals::Signals;
use super::stderr_log::StderrLog;
use proxy_base::process::{Child, Launch};
use proxy_fiber::ThreadHandle;
use proxy_json::Raw;
use proxy_wire::{InputLine, LineReader, LineSender, Sender, encode, line_writer, trace_server};

/// How long a child may take to exit after its stdin was closed, and again after SIGTERM.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
/// How far the exit of a process and the end of its output may lie apart.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);
/// After so many lines in a row that are no messages, the child has to wait before more are read.
const MAX_NOISE: usize = 100;
const NOISE_PAUSE: Duration = Duration::from_millis(10);
/// Messages that may wait to be written to the child's stdin.
const WRITE_QUEUE: usize = 1024;

#[derive(Debug)]
pub(crate) struct StdioTransport {
    process_id: Option<u32>,
    pending: Arc<PendingRequests>,
    /// The thread that reads and writes the pipe.
    thread: ThreadHandle,
    writer: LineSender,
    input_read: InputRead,
    stderr_log: Arc<StderrLog>,
    next_id: AtomicU64,
    stop: CancellationToken,
    stopped: CancellationToken,
}

impl StdioTransport {
    pub(crate) fn start(
        server: &Arc<str>,
        launch: &Launch,
        max_message_bytes: usize,
        signals: Arc<Signals>,
        stderr_log: Arc<StderrLog>,
    ) -> io::Result<Self> {
        let (child, stdin, stdout, stderr) = Child::start(launch)?;
        let process_id = child.id();
        let (writer, queue) = mpsc::channel(WRITE_QUEUE);
        let pending = PendingRequests::new(server, signals);
        let input_read = InputRead::default();
        let stdin = WatchedStdin::new(stdin, &input_read);
        let write = tokio::spawn(line_writer(stdin, queue, CancellationToken::new()));
        let read = tokio::spawn(read(Arc::clone(&pending), stdout, max_message_bytes, writer.downgrade()));
        let stderr = tokio::spawn(Arc::clone(&stderr_log).follow(stderr, max_message_bytes));
        let (stop, stopped) = (CancellationToken::new(), CancellationToken::new());
        let process = ServerProcess { child, read, write, stderr };
        let stopped_guard = stopped.clone().drop_guard();
        let (supervised, stopping) = (Arc::clone(&pending), stop.clone());
        tokio::spawn(async move {
            process.run(&supervised, stopping).await;
            drop(stopped_guard);
        });
        let next_id = AtomicU64::new(1);
        let thread = ThreadHandle::here();
        Ok(StdioTransport { process_id, pending, thread, writer, input_read, stderr_log, next_id, stop, stopped })
    }

    /// Whether the child has read everything that was sent to it. Known when it has exited.
    pub(crate) fn has_read_input(&self) -> bool {
        self.input_read.get()
    }

    pub(crate) fn release_log(&self) {
        self.stderr_log.release();
    }

    pub(crate) fn pending(&self) -> &PendingRequests {
        &self.pending
    }

    /// The id of the process, and what is cancelled when it has ended.
    pub(crate) fn process(&self) -> (Option<u32>, CancellationToken) {
        (self.process_id, self.stopped.clone())
    }

    pub(crate) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) async fn request(&self, outgoing: Outgoing<'_>) -> Result<Raw, TransportError> {
        let response = self.pending.add(&outgoing)?;
        let mut guard = CancelOnDrop::new(Some(&self.pending), &outgoing, None);
        let line = encode::request(outgoing.id, outgoing.method, Some(&outgoing.params));
        trace_server(&self.pending.server, Sender::Proxy, line.as_bytes());
        let Ok(permit) = self.writer.clone().reserve_owned().await else { return Err(self.closed_error()) };
        self.thread.run(move || drop(permit.send(line)));
        // Until now the server knew nothing of the request, and there was nothing to cancel.
        if outgoing.cancellable {
            guard.notify_by(|line| send_cancellation(&self.thread, self.writer.clone(), line));
        }
        let outcome = response.await.unwrap_or_else(|_| Err(self.closed_error()));
        guard.complete();
        outcome
    }

    pub(crate) async fn notify(&self, method: &str, params: Option<&str>) -> Result<(), TransportError> {
        let line = encode::notification(method, params);
        trace_server(&self.pending.server, Sender::Proxy, line.as_bytes());
        self.writer.send(line).await.map_err(|_| self.closed_error())
    }

    fn closed_error(&self) -> TransportError {
        self.pending.closed_error("its stdin is closed")
    }

    pub(crate) async fn closed(&self) -> String {
        self.pending.closed().await
    }

    /// Terminates the child and waits until it has exited.
    pub(crate) async fn stop(&self) {
        self.stop.cancel();
        self.stopped.cancelled().await;
    }
}

/// The child is terminated when its transport is dropped.
impl Drop for StdioTransport {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Queues `notifications/cancelled` behind the request itself.
fn send_cancellation(thread: &ThreadHandle, writer: LineSender, line: String) {
    thread.run(move || {
        if let Err(mpsc::error::TrySendError::Full(line)) = writer.try_send(line) {
            tokio::spawn(async move { writer.send(line).await });
        }
    });
}

/// Counts consecutive lines that are not messages, for servers that print endlessly.
#[derive(Default)]
struct Noise(usize);

impl Noise {
    fn is_too_much(&mut self, line: &[u8]) -> bool {
        self.0 = if matches!(line.first(), Some(b'{' | b'[')) { 0 } else { self.0 + 1 };
        self.0 > MAX_NOISE && self.0.is_multiple_of(MAX_NOISE)
    }
}

async fn read(
    pending: Arc<PendingRequests>,
    stdout: ChildStdout,
    max_message_bytes: usize,
    writer: mpsc::WeakSender<String>,
) {
    let mut lines = LineReader::new(stdout, max_message_bytes);
    let mut noise = Noise::default();
    loop {
        // Reading buffered lines needs no system call, so a server that prints endlessly would never let this task yield.
        tokio::task::coop::consume_budget().await;
        let replies = match lines.next().await {
            Ok(Some(InputLine::Text(text))) => {
                if noise.is_too_much(text) {
                    tokio::time::sleep(NOISE_PAUSE).await;
                }
                pending.receive(text)
            }
            Ok(Some(InputLine::TooLong { head, tail, length })) => {
                tracing::warn!(server = %pending.server, length, max_message_bytes, "skipped an oversized line");
                pending.receive_oversized(&head, &tail, max_message_bytes).into_iter().collect()
            }
            Ok(None) => return,
            Err(error) => {
                tracing::debug!(server = %pending.server, %error, "cannot read from the server");
                return;
            }
        };
        for reply in replies {
            let Some(writer) = writer.upgrade() else { return };
            match reply {
                // Must not block: a server that does not read its stdin would stop the proxy from reading its stdout.
                ReplyAction::Send(message) => {
                    trace_server(&pending.server, Sender::Proxy, message.as_bytes());
                    if writer.try_send(message).is_err() {
                        tracing::warn!(server = %pending.server, "dropped a reply: the server does not read its stdin");
                    }
                }
                ReplyAction::Answer(request, recipient) => {
                    let server = Arc::clone(&pending.server);
                    pending.answer(request, recipient, move |message| async move {
                        trace_server(&server, Sender::Proxy, message.as_bytes());
                        drop(writer.send(message).await)
                    });
                }
            }
        }
        pending.room().await;
    }
}

/// The child and the tasks that read its stdout and stderr and write its stdin.
struct ServerProcess {
    child: Child,
    read: tokio::task::JoinHandle<()>,
    write: tokio::task::JoinHandle<io::Result<()>>,
    stderr: tokio::task::JoinHandle<()>,
}

impl ServerProcess {
    /// Waits until the child exits, closes a stream or is no longer needed. Then fails the pending requests and terminates
    /// the child.
    async fn run(mut self, pending: &PendingRequests, stop: CancellationToken) {
        let reason = tokio::select! {
            status = self.child.wait() => {
                // The pipe may still hold output from before the exit.
                let _ = tokio::time::timeout(DRAIN_TIMEOUT, &mut self.read).await;
                exit_reason(status)
            }
            _ = &mut self.read => exit_reason_or(&mut self.child, "it closed its stdout").await,
            _ = &mut self.write => exit_reason_or(&mut self.child, "it closed its stdin").await,
            () = stop.cancelled() => "it was stopped by the proxy".to_owned(),
        };
        // What it wrote last says why it failed.
        tokio::select! {
            _ = tokio::time::timeout(DRAIN_TIMEOUT, &mut self.stderr) => {}
            () = stop.cancelled() => {}
        }
        if !stop.is_cancelled() && !self.write.is_finished() {
            // Drops stdin: whoever learns that the child is gone can ask whether it had read the request.
            self.write.abort();
            let _ = (&mut self.write).await;
        }
        pending.close(&reason);
        self.child.stop(EXIT_TIMEOUT, || self.write.abort()).await;
        self.read.abort();
    }
}

/// A process that exits closes its streams a moment earlier. The exit status says more than the closed stream.
async fn exit_reason_or(child: &mut Child, otherwise: &str) -> String {
    match tokio::time::timeout(DRAIN_TIMEOUT, child.wait()).await {
        Ok(status) => exit_reason(status),
        Err(_) => otherwise.to_owned(),
    }
}

fn exit_reason(status: io::Result<ExitStatus>) -> String {
    match status {
        Ok(status) => format!("its process exited ({status})"),
        Err(error) => format!("the state of its process is unknown ({error})"),
    }
}
