//! A server that speaks the HTTP+SSE transport of 2024-11-05: one stream on which everything arrives, and an address,
//! told by the stream's first event, to which messages are posted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::any_transport::{Outgoing, TransportError, UnexpectedAnswer};
use super::pending::{PendingTable, Task};
use super::signals::Signals;
use crate::json::Raw;
use crate::wire::http::{Answer, EventStream, HttpClient, HttpError};
use crate::wire::sse::Event;
use crate::wire::{Id, Revision, encode, headers};

/// How long the server may take to accept a message that has no answer. Nobody waits for it.
const ASIDE: Duration = Duration::from_secs(5);
const REPLIES: usize = 256;

#[derive(Debug)]
pub(crate) struct SseTransport {
    poster: Arc<Poster>,
    next_id: AtomicU64,
    reader: JoinHandle<()>,
    replier: JoinHandle<()>,
}

/// What sends, and the table of what waits for an answer on the stream.
#[derive(Debug)]
struct Poster {
    pending: Arc<PendingTable>,
    /// At the address that the server named.
    client: HttpClient,
    version: OnceLock<Revision>,
}

impl SseTransport {
    /// Opens the stream and waits to be told where messages go.
    pub(crate) async fn open(
        name: &Arc<str>,
        client: &HttpClient,
        cap: usize,
        signals: Arc<Signals>,
        patience: Duration,
    ) -> Result<Self, TransportError> {
        let (stream, endpoint) = match tokio::time::timeout(patience, endpoint(client)).await {
            Ok(opened) => opened?,
            Err(_) => return Err(no_endpoint("in time")),
        };
        let client =
            client.beside(&endpoint).map_err(|error| TransportError::Protocol(format!("its `endpoint`: {error}")))?;
        let pending = PendingTable::new(name, signals);
        let poster = Arc::new(Poster { pending, client, version: OnceLock::new() });
        let (sender, replies) = mpsc::channel(REPLIES);
        let reader = tokio::spawn(read(Arc::clone(&poster), stream, cap, sender));
        let replier = tokio::spawn(reply(Arc::clone(&poster), replies));
        Ok(SseTransport { poster, next_id: AtomicU64::new(1), reader, replier })
    }

    pub(crate) fn pending(&self) -> &PendingTable {
        &self.poster.pending
    }

    pub(crate) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// The revision that is named from now on.
    pub(crate) fn agree(&self, revision: Revision) {
        let _ = self.poster.version.set(revision);
    }

    pub(crate) async fn request(&self, outgoing: Outgoing<'_>) -> Result<Raw, TransportError> {
        let id = outgoing.id;
        let answer = self.poster.pending.enter(&outgoing)?;
        let body = encode::request(&Id::number(id), outgoing.method, Some(&outgoing.params));
        let poster = Arc::clone(&self.poster);
        // The answer may come before the acceptance does, so nobody waits for that.
        let posting = tokio::spawn(async move {
            let _ = poster.post(body, Some(id)).await;
        });
        let cancellable = outgoing.cancellable;
        let _guard = CancelOnDrop { poster: &self.poster, id, posting: Some(posting), cancellable };
        answer.await.unwrap_or_else(|_| Err(self.poster.pending.lost("its event stream ended")))
    }

    pub(crate) async fn notify(&self, method: &str, params: Option<&str>) -> Result<(), TransportError> {
        self.poster.post(encode::notification(method, params), None).await
    }

    pub(crate) async fn closed(&self) -> String {
        self.poster.pending.closed().await
    }

    pub(crate) fn stop(&self) {
        self.reader.abort();
        self.replier.abort();
        self.poster.pending.close("the proxy ended it");
    }
}

impl Drop for SseTransport {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Poster {
    /// Sends a message. Where that fails, whoever waits for its answer is told first, and then all others if this is
    /// the end of the connection.
    async fn post(&self, body: String, waits: Option<u64>) -> Result<(), TransportError> {
        let (error, last) = match self.client.post(self.headers(), body).await {
            Ok(answer) if answer.status().is_success() => return Ok(()),
            // It does not know our stream any more, so it has not acted on this either.
            Ok(answer) if answer.status().as_u16() == 404 => (TransportError::SessionExpired, true),
            Ok(answer) => (unexpected(&answer), false),
            Err(error) => {
                let last = matches!(error, HttpError::Connect(_));
                (error.into(), last)
            }
        };
        if let Some(id) = waits {
            self.pending.finish(id, Err(error.clone()));
        }
        if last {
            self.pending.close(&error.to_string());
        }
        Err(error)
    }

    fn headers(&self) -> HeaderMap {
        let mut sent = self.client.headers();
        if let Some(revision) = self.version.get().filter(|revision| **revision >= Revision::V2025_06_18) {
            let version = HeaderValue::from_static(revision.as_str());
            sent.insert(headers::PROTOCOL_VERSION.clone(), version);
        }
        sent
    }

    /// Does what something the server sent asks for, without holding up what it sends next.
    fn carry_out(self: &Arc<Self>, task: Task, replies: &mpsc::Sender<String>) {
        match task {
            // The reader must not wait for a server that does not accept: its answers would pile up behind it.
            Task::Send(reply) => {
                if replies.try_send(reply).is_err() {
                    tracing::warn!(server = %self.pending.name, "a reply was dropped: the server does not accept any");
                }
            }
            Task::Answer(request, asker) => {
                let poster = Arc::clone(self);
                self.pending.answer(request, asker, move |reply| async move { poster.post_aside(reply).await });
            }
        }
    }

    async fn post_aside(&self, body: String) {
        match tokio::time::timeout(ASIDE, self.post(body, None)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(server = %self.pending.name, %error, "sending aside"),
            Err(_) => tracing::debug!(server = %self.pending.name, "sending aside: not accepted in time"),
        }
    }
}

/// The stream, and the address that its first event tells.
async fn endpoint(client: &HttpClient) -> Result<(EventStream, String), TransportError> {
    let answer = client.get(client.headers()).await?;
    if !answer.status().is_success() || !answer.is_events() {
        return Err(unexpected(&answer));
    }
    let mut stream = answer.shared_events();
    while let Some(event) = stream.next().await? {
        if event.kind == "endpoint" {
            return Ok((stream, event.data));
        }
    }
    Err(no_endpoint("before it ended"))
}

fn no_endpoint(when: &str) -> TransportError {
    TransportError::Protocol(format!(
        "its event stream did not say {when} where to send messages (no `endpoint` event)"
    ))
}

fn unexpected(answer: &Answer) -> TransportError {
    let (status, content_type) = (answer.status().as_u16(), answer.content_type().to_owned());
    TransportError::Unexpected(UnexpectedAnswer { status, content_type })
}

async fn read(poster: Arc<Poster>, mut stream: EventStream, cap: usize, replies: mpsc::Sender<String>) {
    let pending = &poster.pending;
    let reason = loop {
        match stream.next().await {
            Ok(Some(Event { data, cut_end: Some(end), .. })) => {
                tracing::warn!(server = %pending.name, cap, "an event over the cap was skipped");
                pending.take_oversized(data.as_bytes(), end.as_bytes(), cap);
            }
            Ok(Some(event)) if event.kind == "message" => {
                for task in pending.take(event.data.as_bytes()) {
                    poster.carry_out(task, &replies);
                }
            }
            Ok(Some(_)) => {}
            Ok(None) => break "its event stream ended".to_owned(),
            Err(error) => break format!("its event stream broke: {error}"),
        }
    };
    pending.close(&reason);
}

async fn reply(poster: Arc<Poster>, mut replies: mpsc::Receiver<String>) {
    while let Some(reply) = replies.recv().await {
        poster.post_aside(reply).await;
    }
}

/// When whoever asked no longer waits: takes the entry away and tells the server, unless it has answered.
struct CancelOnDrop<'a> {
    poster: &'a Arc<Poster>,
    id: u64,
    posting: Option<JoinHandle<()>>,
    cancellable: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        let Some(mut posting) = self.posting.take() else { return };
        let cancelled = self.poster.pending.give_up(self.id) && self.cancellable;
        if !cancelled && posting.is_finished() {
            return;
        }
        let (poster, id) = (Arc::clone(self.poster), self.id);
        tokio::spawn(async move {
            // A cancellation that overtakes its request cancels nothing; and no post lasts for ever.
            let _ = tokio::time::timeout(ASIDE, &mut posting).await;
            posting.abort();
            if !cancelled {
                return;
            }
            let params = format!("{{\"requestId\":{id}}}");
            poster.post_aside(encode::notification("notifications/cancelled", Some(&params))).await;
        });
    }
}
