//! One HTTP exchange per message: posts it and reads the response, resuming an event stream that was interrupted.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use http::{HeaderName, HeaderValue};
use smallvec::SmallVec;
use tokio::sync::watch;

use super::negotiated::Negotiated;
use crate::transport::error::TransportError;
use crate::transport::inbound::{self, Inbound};
use crate::transport::outgoing::Outgoing;
use crate::transport::pending::{PendingRequests, ReplyAction};
use crate::transport::server_client::{SendError, ServerClient};
use crate::transport::signals::Signals;
use proxy_json::{Raw, RawRef};
use proxy_wire::http::{EventStream, HttpAnswer, HttpError, SentHeaders};
use proxy_wire::{Id, Response, Revision, Sender, batch, code, encode, headers, hops, trace_server};

/// The delay before a stream is resumed if the server does not send `retry`.
pub(crate) const DEFAULT_RETRY: Duration = Duration::from_secs(1);
/// How often a stream is resumed without a new event in between.
const MAX_RESUMES: u32 = 5;
/// How long the server may take to accept a message for which no caller is waiting.
const BACKGROUND_POST_TIMEOUT: Duration = Duration::from_secs(5);

/// What the requests of a transport and the reader of its standalone stream share.
#[derive(Debug)]
pub(crate) struct HttpExchange {
    pub(crate) server: Arc<str>,
    pub(crate) client: ServerClient,
    negotiated: ArcSwap<Negotiated>,
    /// The calls of a session that are in flight. Messages on the standalone stream may belong to one of them.
    pub(crate) pending: Arc<PendingRequests>,
    closed: watch::Sender<Option<String>>,
}

impl HttpExchange {
    pub(crate) fn new(server: &Arc<str>, client: ServerClient, signals: Arc<Signals>) -> Self {
        HttpExchange {
            server: Arc::clone(server),
            negotiated: ArcSwap::from_pointee(Negotiated::new(&client, None, None)),
            client,
            pending: PendingRequests::new(server, signals),
            closed: watch::Sender::new(None),
        }
    }

    pub(crate) fn negotiated(&self) -> Arc<Negotiated> {
        self.negotiated.load_full()
    }

    pub(crate) fn set_negotiated(&self, revision: Option<Revision>, session: Option<HeaderValue>) {
        self.negotiated.store(Arc::new(Negotiated::new(&self.client, revision, session)));
    }

    /// Marks the transport as closed. The first reason is kept.
    pub(crate) fn close(&self, reason: &str) {
        self.closed.send_if_modified(|closed| {
            let first = closed.is_none();
            if first {
                *closed = Some(reason.to_owned());
            }
            first
        });
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.borrow().is_some()
    }

    /// Completes when the transport has closed, with the reason.
    pub(crate) async fn closed(&self) -> String {
        let mut closed = self.closed.subscribe();
        let reason = closed.wait_for(Option::is_some).await;
        reason.ok().and_then(|reason| reason.clone()).unwrap_or_default()
    }

    pub(crate) async fn post(
        &self,
        method: &str,
        extra: &[(HeaderName, String)],
        hops: Option<&str>,
        body: String,
    ) -> Result<HttpAnswer, TransportError> {
        trace_server(&self.server, Sender::Proxy, body.as_bytes());
        let negotiated = self.negotiated();
        let mut added = SmallVec::<[_; 2]>::new();
        if negotiated.is_stateless() {
            added.push(added_header(&headers::METHOD, method)?);
            for (name, value) in extra {
                added.push(added_header(name, value)?);
            }
        }
        if let Some(hops) = hops {
            added.push(added_header(&hops::PROXY_VIA, &hops::with_own_hop(hops))?);
        }
        let sent = SentHeaders { common: &negotiated.headers, added: &added };
        let answer = match self.client.post(sent, body).await {
            Ok(answer) => answer,
            Err(error) => {
                if let SendError::Http(error @ HttpError::Connect(_)) = &error {
                    self.close(&error.to_string());
                }
                return Err(error.into());
            }
        };
        if answer.status().as_u16() == 404 && negotiated.session.is_some() {
            self.close("the server ended the session");
            return Err(TransportError::SessionExpired);
        }
        Ok(answer)
    }

    /// Posts a message for which no caller is waiting. Failures are only logged.
    pub(crate) async fn post_in_background(&self, method: &str, body: String) {
        match tokio::time::timeout(BACKGROUND_POST_TIMEOUT, self.post(method, &[], None, body)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::debug!(server = %self.server, method, %error, "a message was not accepted"),
            Err(_) => tracing::debug!(server = %self.server, method, "a message was not accepted in time"),
        }
    }

    pub(crate) async fn request(self: &Arc<Self>, outgoing: &Outgoing<'_>) -> Result<Raw, TransportError> {
        let body = encode::request(outgoing.id, outgoing.method, Some(&outgoing.params));
        let hops = outgoing.peer.as_ref().and_then(|peer| peer.hops());
        let mut answer = self.post(outgoing.method, &outgoing.headers, hops, body).await?;
        if outgoing.method == "initialize"
            && let Some(session) = answer.header(&headers::SESSION_ID)
        {
            self.set_negotiated(self.negotiated().revision, HeaderValue::from_str(session).ok());
        }
        if answer.is_events() {
            return self.read_stream(outgoing, answer.events()).await;
        }
        let status = answer.status().as_u16();
        let body = answer.body().await?;
        match inbound::parse(&self.server, &self.pending.signals, &body) {
            Ok(Inbound::Response(response)) if !has_other_id(&response, outgoing.id) => {
                response.outcome.map_err(|error| {
                    let misfit = self.negotiated().is_contradicted_by(status, error.code());
                    if misfit { TransportError::Misfit(error) } else { TransportError::Rpc(error) }
                })
            }
            _ => Err(TransportError::unexpected(&answer)),
        }
    }

    /// Reads an event stream until the response arrives. A session-based server may close the stream early; it is then
    /// resumed after the last event.
    async fn read_stream(
        self: &Arc<Self>,
        outgoing: &Outgoing<'_>,
        mut stream: EventStream,
    ) -> Result<Raw, TransportError> {
        let (mut last_id, mut resumes) = (None::<String>, 0);
        loop {
            let reason = match stream.next().await {
                Ok(Some(event)) => {
                    resumes = 0;
                    if let Some(outcome) = self.receive(outgoing, &event.kind, &event.data) {
                        stream.finish();
                        return outcome;
                    }
                    // The stream is this call's own: while its client does not read, the server waits.
                    if let Some(room) = outgoing.peer.as_ref().and_then(|peer| peer.room()) {
                        room.await;
                    }
                    continue;
                }
                Ok(None) => "the event stream ended before the response".to_owned(),
                Err(error @ HttpError::TooLarge(_)) => return Err(error.into()),
                Err(error) => error.to_string(),
            };
            last_id = stream.last_id().map(str::to_owned).or(last_id);
            let stateless = self.negotiated().is_stateless();
            let Some(id) = last_id.clone().filter(|_| !stateless && resumes < MAX_RESUMES) else {
                return Err(TransportError::Closed(reason));
            };
            resumes += 1;
            tokio::time::sleep(stream.retry().map_or(DEFAULT_RETRY, clamp_retry)).await;
            stream = Box::pin(self.resume(&id)).await?;
        }
    }

    async fn resume(&self, last_id: &str) -> Result<EventStream, TransportError> {
        let negotiated = self.negotiated();
        let added = [added_header(&headers::LAST_EVENT_ID, last_id)?];
        let answer = self.client.get(SentHeaders { common: &negotiated.headers, added: &added }).await?;
        if answer.status().is_success() && answer.is_events() {
            Ok(answer.events())
        } else {
            Err(TransportError::unexpected(&answer))
        }
    }

    /// Handles an event on the stream of a request. Returns the outcome of the request if the event is its response.
    fn receive(
        self: &Arc<Self>,
        outgoing: &Outgoing<'_>,
        kind: &str,
        data: &str,
    ) -> Option<Result<Raw, TransportError>> {
        match kind {
            "message" => {}
            "endpoint" => return Some(Err(TransportError::OlderTransport)),
            _ => return None,
        }
        match batch(data.as_bytes()) {
            Some(Ok(items)) => items.iter().find_map(|item| self.receive_one(outgoing, item.get().as_bytes())),
            _ => self.receive_one(outgoing, data.as_bytes()),
        }
    }

    fn receive_one(self: &Arc<Self>, outgoing: &Outgoing<'_>, text: &[u8]) -> Option<Result<Raw, TransportError>> {
        match inbound::parse(&self.server, &self.pending.signals, text) {
            Ok(Inbound::Response(response)) if is_response_to(response.id.as_ref(), outgoing.id) => {
                return Some(response.outcome.map_err(TransportError::Rpc));
            }
            Ok(Inbound::Response(_)) => {}
            Ok(inbound) if self.negotiated().is_stateless() => forward(outgoing, inbound),
            Ok(Inbound::Progress(token, params)) if token == outgoing.id => forward_progress(outgoing, &params),
            Ok(inbound) => {
                if let Some(reply) = self.pending.dispatch(inbound, Some(outgoing.id)) {
                    self.reply(reply);
                }
            }
            // Some servers send text that is not JSON as a keep-alive.
            Err(fault) if fault.error.code() == code::PARSE => {
                tracing::debug!(server = %self.server, error = fault.error.message(), "sent an event that is not a message")
            }
            Err(fault) => {
                tracing::warn!(server = %self.server, error = fault.error.message(), "sent an invalid message")
            }
        }
        None
    }

    /// Sends a reply without blocking the reader.
    pub(crate) fn reply(self: &Arc<Self>, reply: ReplyAction) {
        let exchange = Arc::clone(self);
        let send = move |message: String| async move { exchange.post_in_background("", message).await };
        match reply {
            ReplyAction::Send(message) => drop(tokio::spawn(send(message))),
            ReplyAction::Answer(request, recipient) => self.pending.answer(request, recipient, send),
        }
    }
}

/// Forwards a message on the stream of a stateless request to the client of that request. Stateless servers send no
/// requests.
fn forward(outgoing: &Outgoing<'_>, inbound: Inbound) {
    let peer = outgoing.peer.as_ref();
    match (inbound, peer) {
        (Inbound::Progress(token, params), _) if token == outgoing.id => forward_progress(outgoing, &params),
        (Inbound::Log(params), Some(peer)) => peer.log(&params),
        (Inbound::Notification(notification), Some(peer)) => {
            peer.notify(&notification.method, notification.params.as_deref());
        }
        _ => {}
    }
}

fn forward_progress(outgoing: &Outgoing<'_>, params: &RawRef) {
    if let Some(activity) = &outgoing.activity {
        activity.record_progress();
    }
    if let Some(peer) = outgoing.peer.as_ref().filter(|peer| peer.wants_progress()) {
        peer.progress(params);
    }
}

/// Whether a JSON response has the id of another request. A missing or non-numeric id is accepted, because the response
/// to a POST can only belong to the request in its body.
fn has_other_id(response: &Response, request: u64) -> bool {
    inbound::numeric_id(response.id.as_ref()).is_some_and(|id| id != request)
}

/// Whether a response on the stream of a request belongs to it. An error may come without an id if the server could not
/// read the request's id.
fn is_response_to(id: Option<&Id>, request: u64) -> bool {
    id.is_none() || inbound::numeric_id(id) == Some(request)
}

/// Limits the `retry` of a server: neither a busy loop nor an endless pause.
pub(crate) fn clamp_retry(retry: Duration) -> Duration {
    retry.clamp(Duration::from_millis(100), Duration::from_secs(60))
}

pub(crate) fn added_header(name: &HeaderName, value: &str) -> Result<(HeaderName, HeaderValue), TransportError> {
    let invalid = |_| TransportError::Protocol(format!("the value of the `{name}` header is invalid"));
    Ok((name.clone(), HeaderValue::from_str(value).map_err(invalid)?))
}
