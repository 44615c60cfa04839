//! A child process that speaks one message per line.

use std::collections::HashMap;
use std::io;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::call::ProgressSink;
use super::inbound::{self, Inbound};
use super::link::{LinkError, Outgoing, Pulse};
use super::long_line;
use super::signals::Signals;
use crate::json::Raw;
use crate::process::{Child, Launch};
use crate::wire::{Fault, Id, Line, LineReader, LineSender, RpcError, batch, encode, line_writer};

/// How long a child gets to end by itself once its input is closed, and again once it was asked to terminate.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long the end of a process and the end of its output may lie apart.
const LAST_WORDS: Duration = Duration::from_millis(500);
const QUEUE: usize = 1024;

/// The last line a server wrote to its standard error: mostly why it ended. For the person who runs the proxy, not for
/// clients.
pub(super) type LastWords = Arc<Mutex<String>>;

#[derive(Debug)]
struct Pending {
    reply: oneshot::Sender<Result<Raw, LinkError>>,
    progress: Option<ProgressSink>,
    pulse: Option<Arc<Pulse>>,
}

/// What the reader and the senders share.
#[derive(Debug)]
struct Shared {
    name: Arc<str>,
    pending: Mutex<HashMap<u64, Pending>>,
    signals: Arc<Signals>,
    cap: usize,
}

#[derive(Debug)]
pub(super) struct StdioLink {
    shared: Arc<Shared>,
    writer: LineSender,
    next_id: AtomicU64,
    closed: watch::Receiver<Option<String>>,
    stop: CancellationToken,
    ended: CancellationToken,
}

impl StdioLink {
    pub(super) fn start(
        name: &Arc<str>,
        launch: &Launch,
        cap: usize,
        signals: Arc<Signals>,
        last_words: LastWords,
    ) -> io::Result<Self> {
        let (child, stdin, stdout, stderr) = Child::start(launch)?;
        let (writer, queue) = mpsc::channel(QUEUE);
        let (closing, closed) = watch::channel(None);
        let shared = Arc::new(Shared { name: Arc::clone(name), pending: Mutex::default(), signals, cap });
        let write = tokio::spawn(line_writer(stdin, queue));
        let read = tokio::spawn(read(Arc::clone(&shared), stdout, writer.downgrade()));
        tokio::spawn(log_errors(Arc::clone(name), stderr, cap, last_words));
        let (stop, ended) = (CancellationToken::new(), CancellationToken::new());
        let streams = Streams { read, write };
        let done = ended.clone().drop_guard();
        let stopping = stop.clone();
        let keeper_shared = Arc::clone(&shared);
        tokio::spawn(async move {
            keep(keeper_shared, child, streams, closing, stopping).await;
            drop(done);
        });
        Ok(StdioLink { shared, writer, next_id: AtomicU64::new(1), closed, stop, ended })
    }

    pub(super) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) async fn request(&self, outgoing: Outgoing<'_>) -> Result<Raw, LinkError> {
        let Outgoing { id, method, params, progress, pulse, cancellable, .. } = outgoing;
        let (reply, answer) = oneshot::channel();
        self.shared.lock().insert(id, Pending { reply, progress, pulse });
        let mut guard = CancelOnDrop { link: self, id, armed: true, notify: false };
        // Looked at after the entry was made: a link that closes later finds the entry and fails it.
        if let Some(reason) = self.closed.borrow().clone() {
            return Err(LinkError::Closed(reason));
        }
        let line = encode::request(&Id::number(id), method, Some(&params));
        if self.writer.send(line).await.is_err() {
            return Err(LinkError::Closed(self.reason()));
        }
        // While it waited for a place in the queue the server knew nothing of it, and there was nothing to cancel.
        guard.notify = cancellable;
        let outcome = answer.await.unwrap_or_else(|_| Err(LinkError::Closed(self.reason())));
        guard.armed = false;
        outcome
    }

    pub(super) async fn notify(&self, method: &str, params: Option<&str>) -> Result<(), LinkError> {
        let line = encode::notification(method, params);
        self.writer.send(line).await.map_err(|_| LinkError::Closed(self.reason()))
    }

    fn reason(&self) -> String {
        self.closed.borrow().clone().unwrap_or_else(|| "its input is closed".to_owned())
    }

    pub(super) async fn closed(&self) -> String {
        let mut closed = self.closed.clone();
        let reason = closed.wait_for(Option::is_some).await;
        reason.ok().and_then(|reason| reason.clone()).unwrap_or_default()
    }

    /// Ends the child and waits until it is gone.
    pub(super) async fn stop(&self) {
        self.stop.cancel();
        self.ended.cancelled().await;
    }
}

/// A link that nobody holds any more has no use for its child.
impl Drop for StdioLink {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Pending>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish(&self, id: u64, outcome: Result<Raw, LinkError>) {
        match self.lock().remove(&id) {
            // Whoever asked may be gone by now.
            Some(pending) => drop(pending.reply.send(outcome)),
            None => tracing::debug!(server = %self.name, id, "an answer nobody waits for was dropped"),
        }
    }

    fn fail_all(&self, reason: &str) {
        let pending: Vec<Pending> = self.lock().drain().map(|(_, pending)| pending).collect();
        for pending in pending {
            let _ = pending.reply.send(Err(LinkError::Closed(reason.to_owned())));
        }
    }

    /// Takes one line; the text to send back, if it wants an answer.
    fn take(&self, line: Line<'_>) -> Vec<String> {
        match line {
            Line::TooLong { head, tail, length } => {
                tracing::warn!(server = %self.name, length, cap = self.cap, "a line over the cap was skipped");
                match long_line::answered(&head, &tail) {
                    Some(id) => self.finish(id, Err(LinkError::TooLarge(self.cap))),
                    None => tracing::warn!(server = %self.name, "nobody can be told: the line shows no id"),
                }
                Vec::new()
            }
            Line::Text(text) => match batch(text) {
                Some(Ok(items)) => items.iter().filter_map(|item| self.take_message(item.get().as_bytes())).collect(),
                _ => self.take_message(text).into_iter().collect(),
            },
        }
    }

    fn take_message(&self, text: &[u8]) -> Option<String> {
        match inbound::sort(&self.name, &self.signals, text) {
            Ok(Inbound::Answer(response)) => {
                match inbound::number(response.id.as_ref()) {
                    Some(id) => self.finish(id, response.outcome.map_err(LinkError::Rpc)),
                    None => tracing::warn!(server = %self.name, "an answer without a usable id was dropped"),
                }
                None
            }
            Ok(Inbound::Reply(reply)) => Some(reply),
            Ok(Inbound::Progress(token, params)) => {
                self.take_progress(token, params);
                None
            }
            Ok(Inbound::Nothing) => None,
            Err(Fault { id, error }) => {
                self.take_fault(text, id, &error);
                None
            }
        }
    }

    fn take_progress(&self, token: u64, params: Raw) {
        let pending = self.lock();
        let Some(pending) = pending.get(&token) else { return };
        if let Some(pulse) = &pending.pulse {
            pulse.beat();
        }
        if let Some(progress) = &pending.progress {
            progress.push(params);
        }
    }

    /// A malformed answer fails the call it names; anything else on the stream is noise to log.
    fn take_fault(&self, text: &[u8], id: Option<Id>, error: &RpcError) {
        let shown: String = String::from_utf8_lossy(text).chars().take(200).collect();
        tracing::warn!(server = %self.name, line = %shown, "not a message: {}", error.message());
        if let Some(id) = inbound::number(id.as_ref())
            && let Some(pending) = self.lock().remove(&id)
        {
            let _ = pending.reply.send(Err(LinkError::Protocol(error.message())));
        }
    }
}

/// Takes the entry away and tells the server, when whoever asked no longer waits.
struct CancelOnDrop<'a> {
    link: &'a StdioLink,
    id: u64,
    armed: bool,
    notify: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if !self.armed || self.link.shared.lock().remove(&self.id).is_none() || !self.notify {
            return;
        }
        let params = format!("{{\"requestId\":{}}}", self.id);
        let line = encode::notification("notifications/cancelled", Some(&params));
        if let Err(mpsc::error::TrySendError::Full(line)) = self.link.writer.try_send(line) {
            let writer = self.link.writer.clone();
            tokio::spawn(async move { writer.send(line).await });
        }
    }
}

async fn read(shared: Arc<Shared>, stdout: ChildStdout, writer: mpsc::WeakSender<String>) {
    let mut lines = LineReader::new(stdout, shared.cap);
    loop {
        let replies = match lines.next().await {
            Ok(Some(line)) => shared.take(line),
            Ok(None) => return,
            Err(error) => {
                tracing::debug!(server = %shared.name, %error, "reading");
                return;
            }
        };
        for reply in replies {
            let Some(writer) = writer.upgrade() else { return };
            // The reader must not wait for a server that does not read: its answers would pile up behind it.
            if writer.try_send(reply).is_err() {
                tracing::warn!(server = %shared.name, "a reply was dropped: the server does not read");
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
async fn keep(
    shared: Arc<Shared>,
    mut child: Child,
    mut streams: Streams,
    closing: watch::Sender<Option<String>>,
    stop: CancellationToken,
) {
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
    closing.send_replace(Some(reason.clone()));
    shared.fail_all(&reason);
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
