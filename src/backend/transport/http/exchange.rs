//! A server reached by HTTP: a POST for every message, answers as JSON or as an event stream.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use http::{HeaderMap, HeaderName, HeaderValue};
use tokio::sync::{oneshot, watch};

use super::agreement::Agreement;
use super::listener;
use crate::backend::transport::any_transport::{Outgoing, TransportError, UnexpectedAnswer};
use crate::backend::transport::inbound;
use crate::backend::transport::inbound::Inbound;
use crate::backend::transport::pending::{PendingTable, Task};
use crate::backend::transport::signals::Signals;
use crate::json::{Raw, RawRef};
use crate::wire::http::{Answer, EventStream, HttpClient, HttpError};
use crate::wire::{Id, Response, Revision, batch, encode, headers};

/// Where a server does not say how long to wait before its stream is taken up again.
pub(crate) const RESUME_AFTER: Duration = Duration::from_secs(1);
/// How often one stream is taken up again without a single new event.
const RESUME_LIMIT: u32 = 5;
/// How long the server may take to accept a message that has no answer. Nobody waits for it, and it must not hold up
/// what comes behind it.
const ASIDE: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct HttpTransport {
    inner: Arc<Inner>,
    listener: Mutex<Option<tokio::task::JoinHandle<()>>>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) name: Arc<str>,
    pub(crate) client: HttpClient,
    agreement: ArcSwap<Agreement>,
    next_id: AtomicU64,
    /// The requests of a session that are on their way: what the server says on its own stream may be for one of them.
    pub(crate) pending: Arc<PendingTable>,
    closed: watch::Sender<Option<String>>,
}

impl HttpTransport {
    pub(crate) fn new(name: &Arc<str>, client: HttpClient, signals: Arc<Signals>) -> Self {
        let inner = Inner {
            name: Arc::clone(name),
            agreement: ArcSwap::from_pointee(Agreement::new(&client, None, None)),
            client,
            next_id: AtomicU64::new(1),
            pending: PendingTable::new(name, signals),
            closed: watch::Sender::new(None),
        };
        HttpTransport { inner: Arc::new(inner), listener: Mutex::new(None) }
    }

    pub(crate) fn pending(&self) -> &PendingTable {
        &self.inner.pending
    }

    /// Another link to the same server, on which nothing is agreed.
    pub(crate) fn anew(&self) -> HttpTransport {
        HttpTransport::new(&self.inner.name, self.inner.client.clone(), Arc::default())
    }

    pub(crate) fn next_id(&self) -> u64 {
        self.inner.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// The revision whose headers are sent from now on.
    pub(crate) fn agree(&self, revision: Option<Revision>) {
        let session = self.inner.agreed().session.clone();
        self.inner.agree(revision, session);
    }

    pub(crate) async fn request(&self, outgoing: Outgoing<'_>) -> Result<Raw, TransportError> {
        let stateless = self.inner.agreed().is_stateless();
        let known = !stateless && outgoing.peer.is_some();
        if known {
            drop(self.inner.pending.enter(&outgoing)?);
        }
        let mut guard = CancelOnDrop {
            inner: &self.inner,
            id: outgoing.id,
            known,
            // A stateless request is cancelled by closing its stream, which dropping it does.
            armed: outgoing.cancellable && !stateless,
        };
        let outcome = self.inner.request(&outgoing).await;
        guard.armed = false;
        outcome
    }

    pub(crate) async fn notify(&self, method: &str, params: Option<&str>) -> Result<(), TransportError> {
        self.inner.post(method, &[], encode::notification(method, params)).await.map(drop)
    }

    /// Opens the stream on which a session-based server speaks unasked. Ends when it is open or will not be.
    pub(crate) async fn listen(&self) {
        let inner = Arc::clone(&self.inner);
        let (opened, open) = oneshot::channel();
        let task = tokio::spawn(async move { listener::listen(&inner, opened).await });
        if let Some(old) = self.listener.lock().unwrap_or_else(PoisonError::into_inner).replace(task) {
            old.abort();
        }
        let _ = open.await;
    }

    /// Gives the link up, so that a new one is made: what was agreed on it no longer holds.
    pub(crate) fn abandon(&self, reason: &str) {
        self.inner.close(reason);
    }

    pub(crate) async fn closed(&self) -> String {
        let mut closed = self.inner.closed.subscribe();
        let reason = closed.wait_for(Option::is_some).await;
        reason.ok().and_then(|reason| reason.clone()).unwrap_or_default()
    }

    pub(crate) async fn stop(&self) {
        if let Some(listener) = self.listener.lock().unwrap_or_else(PoisonError::into_inner).take() {
            listener.abort();
        }
        if self.inner.agreed().session.is_some() {
            let delete = self.inner.client.delete(self.inner.agreed().headers.clone());
            if tokio::time::timeout(Duration::from_secs(2), delete).await.is_err() {
                tracing::debug!(server = %self.inner.name, "the session was not ended in time");
            }
        }
    }
}

/// A link that nobody holds any more has nobody to listen for.
impl Drop for HttpTransport {
    fn drop(&mut self) {
        if let Some(listener) = self.listener.lock().unwrap_or_else(PoisonError::into_inner).take() {
            listener.abort();
        }
    }
}

impl Inner {
    pub(crate) fn agreed(&self) -> Arc<Agreement> {
        self.agreement.load_full()
    }

    fn agree(&self, revision: Option<Revision>, session: Option<HeaderValue>) {
        self.agreement.store(Arc::new(Agreement::new(&self.client, revision, session)));
    }

    pub(crate) fn close(&self, reason: &str) {
        self.closed.send_if_modified(|closed| {
            let first = closed.is_none();
            if first {
                *closed = Some(reason.to_owned());
            }
            first
        });
    }

    async fn post(&self, method: &str, extra: &[(HeaderName, String)], body: String) -> Result<Answer, TransportError> {
        let agreed = self.agreed();
        let mut sent = agreed.headers.clone();
        if agreed.is_stateless() {
            put(&mut sent, &headers::METHOD, method)?;
            for (name, value) in extra {
                put(&mut sent, name, value)?;
            }
        }
        let answer = match self.client.post(sent, body).await {
            Ok(answer) => answer,
            Err(error) => {
                if matches!(error, HttpError::Connect(_)) {
                    self.close(&error.to_string());
                }
                return Err(error.into());
            }
        };
        match answer.status().as_u16() {
            404 if agreed.session.is_some() => {
                self.close("the server ended its session");
                Err(TransportError::SessionExpired)
            }
            status @ (401 | 403) => Err(unexpected(status, &answer)),
            _ => Ok(answer),
        }
    }

    async fn request(self: &Arc<Self>, outgoing: &Outgoing<'_>) -> Result<Raw, TransportError> {
        let body = encode::request(&Id::number(outgoing.id), outgoing.method, Some(&outgoing.params));
        let mut answer = self.post(outgoing.method, &outgoing.headers, body).await?;
        if outgoing.method == "initialize"
            && let Some(session) = answer.header(&headers::SESSION_ID)
        {
            self.agree(self.agreed().revision, HeaderValue::from_str(session).ok());
        }
        if answer.is_events() {
            return self.follow(outgoing, answer.events()).await;
        }
        let status = answer.status().as_u16();
        let body = answer.body().await?;
        match inbound::sort(&self.name, &self.pending.signals, &body) {
            Ok(Inbound::Answer(response)) if !is_of_another(&response, outgoing.id) => {
                response.outcome.map_err(|error| {
                    let misfit = self.agreed().is_broken_by(status, error.code());
                    if misfit { TransportError::Misfit(error) } else { TransportError::Rpc(error) }
                })
            }
            _ => Err(unexpected(status, &answer)),
        }
    }

    /// Reads a stream until the answer is there, taking it up again where the server closed it on purpose.
    async fn follow(self: &Arc<Self>, outgoing: &Outgoing<'_>, mut stream: EventStream) -> Result<Raw, TransportError> {
        let (mut last_id, mut tries) = (None::<String>, 0);
        loop {
            let ended = match stream.next().await {
                Ok(Some(event)) => {
                    tries = 0;
                    if let Some(outcome) = self.take(outgoing, &event.kind, &event.data) {
                        return outcome;
                    }
                    continue;
                }
                Ok(None) => "the stream ended before the answer".to_owned(),
                Err(error @ HttpError::TooLarge(_)) => return Err(error.into()),
                Err(error) => error.to_string(),
            };
            last_id = stream.last_id().map(str::to_owned).or(last_id);
            let stateless = self.agreed().is_stateless();
            let Some(id) = last_id.clone().filter(|_| !stateless && tries < RESUME_LIMIT) else {
                return Err(TransportError::Closed(ended));
            };
            tries += 1;
            tokio::time::sleep(stream.retry().map_or(RESUME_AFTER, sensible)).await;
            stream = self.resume(&id).await?;
        }
    }

    async fn resume(&self, last_id: &str) -> Result<EventStream, TransportError> {
        let mut sent = self.agreed().headers.clone();
        put(&mut sent, &headers::LAST_EVENT_ID, last_id)?;
        let answer = self.client.get(sent).await?;
        if answer.status().is_success() && answer.is_events() {
            Ok(answer.events())
        } else {
            Err(unexpected(answer.status().as_u16(), &answer))
        }
    }

    /// One event of a request's own stream; its outcome if this was the answer.
    fn take(self: &Arc<Self>, outgoing: &Outgoing<'_>, kind: &str, data: &str) -> Option<Result<Raw, TransportError>> {
        match kind {
            "message" => {}
            "endpoint" => return Some(Err(TransportError::OlderTransport)),
            _ => return None,
        }
        let items = match batch(data.as_bytes()) {
            Some(Ok(items)) => items,
            _ => vec![crate::json::valid(data.to_owned()).ok()?],
        };
        for item in items {
            match inbound::sort(&self.name, &self.pending.signals, item.get().as_bytes()) {
                Ok(Inbound::Answer(response)) if answers(response.id.as_ref(), outgoing.id) => {
                    return Some(response.outcome.map_err(TransportError::Rpc));
                }
                Ok(Inbound::Answer(_)) => {}
                Ok(inbound) if self.agreed().is_stateless() => take_news(outgoing, inbound),
                Ok(inbound) => {
                    if let Inbound::Progress(token, params) = &inbound
                        && *token == outgoing.id
                    {
                        take_progress(outgoing, params);
                        continue;
                    }
                    let task = self.pending.take_other(inbound, Some(outgoing.id));
                    self.carry_out(task);
                }
                Err(fault) => tracing::warn!(server = %self.name, "not a message: {}", fault.error.message()),
            }
        }
        None
    }

    /// Does what something the server sent asks for, without holding up what it sends next.
    pub(crate) fn carry_out(self: &Arc<Self>, task: Option<Task>) {
        let link = Arc::clone(self);
        let send = move |reply: String| async move { link.post_aside("", reply).await };
        match task {
            None => {}
            Some(Task::Send(reply)) => drop(tokio::spawn(send(reply))),
            Some(Task::Answer(request, asker)) => self.pending.answer(request, asker, send),
        }
    }

    /// Sends what has no answer; a failure is nobody's but the log's.
    async fn post_aside(&self, method: &str, body: String) {
        match tokio::time::timeout(ASIDE, self.post(method, &[], body)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::debug!(server = %self.name, method, %error, "sending aside"),
            Err(_) => tracing::debug!(server = %self.name, method, "sending aside: not accepted in time"),
        }
    }
}

/// What a stateless server says on the stream of a request belongs to that, and is never a question.
fn take_news(outgoing: &Outgoing<'_>, inbound: Inbound) {
    let peer = outgoing.peer.as_ref();
    match (inbound, peer) {
        (Inbound::Progress(token, params), _) if token == outgoing.id => take_progress(outgoing, &params),
        (Inbound::Log(params), Some(peer)) => peer.log(&params),
        (Inbound::Other(notification), Some(peer)) => peer.tell(&notification.method, notification.params.as_deref()),
        _ => {}
    }
}

fn take_progress(outgoing: &Outgoing<'_>, params: &RawRef) {
    if let Some(pulse) = &outgoing.pulse {
        pulse.beat();
    }
    if let Some(peer) = outgoing.peer.as_ref().filter(|peer| peer.wants_progress()) {
        peer.progress(params);
    }
}

/// An error may come without id where the server could not read ours; on this stream it can only mean us.
/// Whether what came back alone is the answer to another request of ours. A server that is careless with ids is not
/// thereby wrong: it was asked one thing.
fn is_of_another(response: &Response, ours: u64) -> bool {
    inbound::number(response.id.as_ref()).is_some_and(|number| number != ours)
}

fn answers(id: Option<&Id>, ours: u64) -> bool {
    id.is_none() || inbound::number(id) == Some(ours)
}

/// What a server asks for, within reason: neither a tight loop nor a pause without end.
pub(crate) fn sensible(retry: Duration) -> Duration {
    retry.clamp(Duration::from_millis(100), Duration::from_secs(60))
}

pub(crate) fn put(headers: &mut HeaderMap, name: &HeaderName, value: &str) -> Result<(), TransportError> {
    let bad = |_| TransportError::Protocol(format!("the header `{name}` cannot be sent"));
    headers.insert(name.clone(), HeaderValue::from_str(value).map_err(bad)?);
    Ok(())
}

fn unexpected(status: u16, answer: &Answer) -> TransportError {
    TransportError::Unexpected(UnexpectedAnswer { status, content_type: answer.content_type().to_owned() })
}

struct CancelOnDrop<'a> {
    inner: &'a Arc<Inner>,
    id: u64,
    /// Whether it has an entry among the pending ones.
    known: bool,
    armed: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if self.known && self.armed {
            self.inner.pending.give_up(self.id);
        } else if self.known {
            self.inner.pending.leave(self.id);
        }
        if !self.armed {
            return;
        }
        let (inner, id) = (Arc::clone(self.inner), self.id);
        tokio::spawn(async move {
            let params = format!("{{\"requestId\":{id}}}");
            let message = encode::notification("notifications/cancelled", Some(&params));
            inner.post_aside("notifications/cancelled", message).await;
        });
    }
}
