//! The HTTP+SSE transport of 2024-11-05: all messages arrive on one event stream, whose first event names the URL to which
//! messages are posted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::cancel_on_drop::CancelOnDrop;
use super::error::TransportError;
use super::outgoing::Outgoing;
use super::pending::{PendingRequests, ReplyAction};
use super::server_client::{SendError, ServerClient};
use super::signals::Signals;
use proxy_json::Raw;
use proxy_wire::http::{EventStream, HttpError};
use proxy_wire::sse::Event;
use proxy_wire::{Revision, Sender, encode, headers, trace_server};

/// How long the server may take to accept a message for which no caller is waiting.
const BACKGROUND_POST_TIMEOUT: Duration = Duration::from_secs(5);
const REPLY_QUEUE: usize = 256;

#[derive(Debug)]
pub(crate) struct SseTransport {
    poster: Arc<Poster>,
    next_id: AtomicU64,
    reader: JoinHandle<()>,
    replier: JoinHandle<()>,
}

/// Posts messages. The responses arrive on the event stream and are matched with the pending requests.
#[derive(Debug)]
struct Poster {
    pending: Arc<PendingRequests>,
    /// Posts to the URL that the server named.
    client: ServerClient,
    revision: OnceLock<Revision>,
}

impl SseTransport {
    /// Opens the event stream and waits for its `endpoint` event.
    pub(crate) async fn open(
        server: &Arc<str>,
        client: &ServerClient,
        max_message_bytes: usize,
        signals: Arc<Signals>,
        timeout: Duration,
    ) -> Result<Self, TransportError> {
        let (stream, endpoint) = match tokio::time::timeout(timeout, open_stream(client)).await {
            Ok(opened) => opened?,
            Err(_) => return Err(no_endpoint("in time")),
        };
        let client = client
            .resolve(&endpoint)
            .map_err(|error| TransportError::Protocol(format!("invalid `endpoint` event: {error}")))?;
        let pending = PendingRequests::new(server, signals);
        let poster = Arc::new(Poster { pending, client, revision: OnceLock::new() });
        let (sender, replies) = mpsc::channel(REPLY_QUEUE);
        let reader = tokio::spawn(read(Arc::clone(&poster), stream, max_message_bytes, sender));
        let replier = tokio::spawn(send_replies(Arc::clone(&poster), replies));
        Ok(SseTransport { poster, next_id: AtomicU64::new(1), reader, replier })
    }

    pub(crate) fn pending(&self) -> &PendingRequests {
        &self.poster.pending
    }

    pub(crate) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Sets the negotiated revision, which is sent as a header from now on.
    pub(crate) fn set_revision(&self, revision: Revision) {
        let _ = self.poster.revision.set(revision);
    }

    pub(crate) async fn request(&self, outgoing: Outgoing<'_>) -> Result<Raw, TransportError> {
        let id = outgoing.id;
        let response = self.poster.pending.add(&outgoing)?;
        let body = encode::request(id, outgoing.method, Some(&outgoing.params));
        let posting = Posting::start(&self.poster, body, id);
        let (poster, posted) = (Arc::clone(&self.poster), posting.finished.clone());
        let cancel = move |message| {
            tokio::spawn(async move {
                // A cancellation that overtakes its request has no effect.
                posted.cancelled().await;
                poster.post_in_background(message).await;
            });
        };
        let guard = CancelOnDrop::new(Some(&self.poster.pending), &outgoing, outgoing.cancellable.then_some(cancel));
        let outcome =
            response.await.unwrap_or_else(|_| Err(self.poster.pending.closed_error("its event stream ended")));
        guard.complete();
        outcome
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
        self.poster.pending.close("it was stopped by the proxy");
    }
}

impl Drop for SseTransport {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The POST of a request. It runs in the background, because the response may arrive on the event stream before the POST is
/// accepted. After the request has ended, the POST is aborted if it is not accepted in time.
struct Posting {
    task: Option<JoinHandle<()>>,
    /// Cancelled when the POST has ended.
    finished: CancellationToken,
}

impl Posting {
    fn start(poster: &Arc<Poster>, body: String, id: u64) -> Self {
        let (poster, finished) = (Arc::clone(poster), CancellationToken::new());
        let finished_guard = finished.clone().drop_guard();
        let task = tokio::spawn(async move {
            let _guard = finished_guard;
            let _ = poster.post(body, Some(id)).await;
        });
        Posting { task: Some(task), finished }
    }
}

impl Drop for Posting {
    fn drop(&mut self) {
        if let Some(mut task) = self.task.take().filter(|task| !task.is_finished()) {
            tokio::spawn(async move {
                let _ = tokio::time::timeout(BACKGROUND_POST_TIMEOUT, &mut task).await;
                task.abort();
            });
        }
    }
}

impl Poster {
    /// Posts a message. If that fails, fails the request `id` first, and then all others if the connection is lost.
    async fn post(&self, body: String, id: Option<u64>) -> Result<(), TransportError> {
        trace_server(&self.pending.server, Sender::Proxy, body.as_bytes());
        let (error, is_lost) = match self.client.post((&self.headers()).into(), body).await {
            Ok(answer) if answer.status().is_success() => return Ok(()),
            // The server no longer knows the event stream, so it has not acted on the message either.
            Ok(answer) if answer.status().as_u16() == 404 => (TransportError::SessionExpired, true),
            Ok(answer) => (TransportError::unexpected(&answer), false),
            Err(error) => {
                let is_lost = matches!(error, SendError::Http(HttpError::Connect(_)));
                (error.into(), is_lost)
            }
        };
        if let Some(id) = id {
            self.pending.finish(id, Err(error.clone()));
        }
        if is_lost {
            self.pending.close(&error.to_string());
        }
        Err(error)
    }

    fn headers(&self) -> HeaderMap {
        let mut sent = self.client.headers().clone();
        if let Some(revision) = self.revision.get().filter(|revision| **revision >= Revision::V2025_06_18) {
            let version = HeaderValue::from_static(revision.as_str());
            sent.insert(headers::PROTOCOL_VERSION.clone(), version);
        }
        sent
    }

    /// Sends a reply without blocking the reader: a server that accepts no messages would stop the proxy from reading its
    /// responses.
    fn reply(self: &Arc<Self>, reply: ReplyAction, replies: &mpsc::Sender<String>) {
        match reply {
            ReplyAction::Send(message) => {
                if replies.try_send(message).is_err() {
                    tracing::warn!(server = %self.pending.server, "dropped a reply: the server accepts no messages");
                }
            }
            ReplyAction::Answer(request, recipient) => {
                let poster = Arc::clone(self);
                let send = move |message| async move { poster.post_in_background(message).await };
                self.pending.answer(request, recipient, send);
            }
        }
    }

    /// Posts a message for which no caller is waiting. Failures are only logged.
    async fn post_in_background(&self, body: String) {
        match tokio::time::timeout(BACKGROUND_POST_TIMEOUT, self.post(body, None)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(server = %self.pending.server, %error, "a message was not accepted"),
            Err(_) => tracing::debug!(server = %self.pending.server, "a message was not accepted in time"),
        }
    }
}

/// Opens the event stream and reads the URL that its `endpoint` event names.
async fn open_stream(client: &ServerClient) -> Result<(EventStream, String), TransportError> {
    let answer = client.get(client.headers().into()).await?;
    if !answer.status().is_success() || !answer.is_events() {
        return Err(TransportError::unexpected(&answer));
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
    TransportError::Protocol(format!("its event stream sent no `endpoint` event {when}"))
}

async fn read(poster: Arc<Poster>, mut stream: EventStream, max_message_bytes: usize, replies: mpsc::Sender<String>) {
    let pending = &poster.pending;
    let reason = loop {
        match stream.next().await {
            Ok(Some(Event { data, cut_end: Some(end), .. })) => {
                tracing::warn!(server = %pending.server, max_message_bytes, "skipped an oversized event");
                if let Some(reply) = pending.receive_oversized(data.as_bytes(), end.as_bytes(), max_message_bytes) {
                    poster.reply(reply, &replies);
                }
            }
            Ok(Some(event)) if event.kind == "message" => {
                for reply in pending.receive(event.data.as_bytes()) {
                    poster.reply(reply, &replies);
                }
                pending.room().await;
            }
            Ok(Some(_)) => {}
            Ok(None) => break "its event stream ended".to_owned(),
            Err(error) => break format!("its event stream failed: {error}"),
        }
    };
    pending.close(&reason);
}

async fn send_replies(poster: Arc<Poster>, mut replies: mpsc::Receiver<String>) {
    while let Some(message) = replies.recv().await {
        poster.post_in_background(message).await;
    }
}
