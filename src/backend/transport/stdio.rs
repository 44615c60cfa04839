//! A child process that speaks one message per line.

use std::io;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::any_transport::{Outgoing, TransportError};
use super::pending::{PendingTable, Task};
use super::signals::Signals;
use crate::fiber::run_on_runtime;
use crate::json::Raw;
use crate::process::{Child, Launch};
use crate::wire::{Id, Line, LineReader, LineSender, encode, line_writer};

/// How long a child gets to end by itself once its input is closed, and again once it was asked to terminate.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long the end of a process and the end of its output may lie apart.
const LAST_WORDS: Duration = Duration::from_millis(500);
const QUEUE: usize = 1024;

/// The last line a server wrote to its standard error: mostly why it ended. For the person who runs the proxy, not for
/// clients.
pub(crate) type LastWords = Arc<Mutex<String>>;

#[derive(Debug)]
pub(crate) struct StdioTransport {
    pending: Arc<PendingTable>,
    writer: LineSender,
    next_id: AtomicU64,
    stop: CancellationToken,
    ended: CancellationToken,
}

impl StdioTransport {
    pub(crate) fn start(
        name: &Arc<str>,
        launch: &Launch,
        cap: usize,
        signals: Arc<Signals>,
        last_words: LastWords,
    ) -> io::Result<Self> {
        let (child, stdin, stdout, stderr) = Child::start(launch)?;
        let (writer, queue) = mpsc::channel(QUEUE);
        let pending = PendingTable::new(name, signals);
        let write = tokio::spawn(line_writer(stdin, queue));
        let read = tokio::spawn(read(Arc::clone(&pending), stdout, cap, writer.downgrade()));
        tokio::spawn(log_errors(Arc::clone(name), stderr, cap, last_words));
        let (stop, ended) = (CancellationToken::new(), CancellationToken::new());
        let streams = Streams { read, write };
        let done = ended.clone().drop_guard();
        let stopping = stop.clone();
        let waiting = Arc::clone(&pending);
        tokio::spawn(async move {
            keep(&waiting, child, streams, stopping).await;
            drop(done);
        });
        Ok(StdioTransport { pending, writer, next_id: AtomicU64::new(1), stop, ended })
    }

    pub(crate) fn pending(&self) -> &PendingTable {
        &self.pending
    }

    pub(crate) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) async fn request(&self, outgoing: Outgoing<'_>) -> Result<Raw, TransportError> {
        let answer = self.pending.enter(&outgoing)?;
        let mut guard = CancelOnDrop { link: self, id: outgoing.id, armed: true, notify: false };
        let line = encode::request(&Id::number(outgoing.id), outgoing.method, Some(&outgoing.params));
        let Ok(place) = self.writer.clone().reserve_owned().await else { return Err(self.lost()) };
        run_on_runtime(move || drop(place.send(line)));
        // While it waited for a place in the queue the server knew nothing of it, and there was nothing to cancel.
        guard.notify = outgoing.cancellable;
        let outcome = answer.await.unwrap_or_else(|_| Err(self.lost()));
        guard.armed = false;
        outcome
    }

    pub(crate) async fn notify(&self, method: &str, params: Option<&str>) -> Result<(), TransportError> {
        let line = encode::notification(method, params);
        self.writer.send(line).await.map_err(|_| self.lost())
    }

    fn lost(&self) -> TransportError {
        self.pending.lost("its input is closed")
    }

    pub(crate) async fn closed(&self) -> String {
        self.pending.closed().await
    }

    /// Ends the child and waits until it is gone.
    pub(crate) async fn stop(&self) {
        self.stop.cancel();
        self.ended.cancelled().await;
    }
}

/// A link that nobody holds any more has no use for its child.
impl Drop for StdioTransport {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Takes the entry away and tells the server, when whoever asked no longer waits.
struct CancelOnDrop<'a> {
    link: &'a StdioTransport,
    id: u64,
    armed: bool,
    notify: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if !self.armed || !self.link.pending.give_up(self.id) || !self.notify {
            return;
        }
        let params = format!("{{\"requestId\":{}}}", self.id);
        let line = encode::notification("notifications/cancelled", Some(&params));
        let writer = self.link.writer.clone();
        // Behind the request itself.
        run_on_runtime(move || {
            if let Err(mpsc::error::TrySendError::Full(line)) = writer.try_send(line) {
                tokio::spawn(async move { writer.send(line).await });
            }
        });
    }
}

async fn read(pending: Arc<PendingTable>, stdout: ChildStdout, cap: usize, writer: mpsc::WeakSender<String>) {
    let mut lines = LineReader::new(stdout, cap);
    loop {
        let tasks = match lines.next().await {
            Ok(Some(Line::Text(text))) => pending.take(text),
            Ok(Some(Line::TooLong { head, tail, length })) => {
                tracing::warn!(server = %pending.name, length, cap, "a line over the cap was skipped");
                pending.take_oversized(&head, &tail, cap);
                continue;
            }
            Ok(None) => return,
            Err(error) => {
                tracing::debug!(server = %pending.name, %error, "reading");
                return;
            }
        };
        for task in tasks {
            let Some(writer) = writer.upgrade() else { return };
            match task {
                // The reader must not wait for a server that does not read: its answers would pile up behind it.
                Task::Send(reply) => {
                    if writer.try_send(reply).is_err() {
                        tracing::warn!(server = %pending.name, "a reply was dropped: the server does not read");
                    }
                }
                Task::Answer(request, asker) => {
                    pending.answer(request, asker, move |reply| async move { drop(writer.send(reply).await) });
                }
            }
        }
    }
}

async fn log_errors(name: Arc<str>, stderr: ChildStderr, cap: usize, last_words: LastWords) {
    let mut lines = LineReader::new(stderr, cap);
    while let Ok(Some(line)) = lines.next().await {
        match line {
            Line::Text(text) => {
                let text = String::from_utf8_lossy(text);
                *last_words.lock().unwrap_or_else(PoisonError::into_inner) = text.chars().take(300).collect();
                tracing::info!(target: "server", server = %name, "{text}");
            }
            Line::TooLong { length, .. } => {
                tracing::info!(target: "server", server = %name, "a line of {length} bytes")
            }
        }
    }
}

struct Streams {
    read: tokio::task::JoinHandle<()>,
    write: tokio::task::JoinHandle<io::Result<()>>,
}

/// Owns the child: waits until it ends, closes its streams, or we stop using it; then fails what is still waiting.
async fn keep(pending: &PendingTable, mut child: Child, mut streams: Streams, stop: CancellationToken) {
    let reason = tokio::select! {
        status = child.wait() => {
            // What it said before it ended is still in the pipe.
            let _ = tokio::time::timeout(LAST_WORDS, &mut streams.read).await;
            ended(status)
        }
        _ = &mut streams.read => ended_or(&mut child, "it closed its output").await,
        _ = &mut streams.write => ended_or(&mut child, "it no longer reads its input").await,
        () = stop.cancelled() => "the proxy ended it".to_owned(),
    };
    pending.close(&reason);
    child.stop(PATIENCE, || streams.write.abort()).await;
    streams.read.abort();
}

/// A process that ends closes its streams a moment before; how it ended says more.
async fn ended_or(child: &mut Child, otherwise: &str) -> String {
    match tokio::time::timeout(LAST_WORDS, child.wait()).await {
        Ok(status) => ended(status),
        Err(_) => otherwise.to_owned(),
    }
}

fn ended(status: io::Result<ExitStatus>) -> String {
    match status {
        Ok(status) => format!("its process ended ({status})"),
        Err(error) => format!("its process is lost ({error})"),
    }
}
