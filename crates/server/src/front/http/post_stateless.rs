//! HTTP POST with a stateless request.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use ::http::{HeaderMap, StatusCode};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::HttpFront;
use super::admission::revoked;
use super::negotiate::Accepts;
use super::request_headers::hops;
use super::scope_check::scope_refusal;
use crate::client::sink::{MessageQueue, MessageSink};
use crate::client::state::{Client, HttpFacts};
use crate::front::authenticator::Caller;
use crate::front::refusal::Refusal;
use crate::front::stateless::{admit, check_param_headers, status};
use crate::methods::{self, MethodOutcome};
use proxy_fiber::boxed_in_place;
use proxy_mcp_client::Cancellation;
use proxy_wire::http::HttpReply;
use proxy_wire::outbound::{NoRoom, OutboundMessage, Outlet};
use proxy_wire::{Id, Method, Request, RpcError, Sender, encode, sse, trace_client};

/// The number of messages and frames that are queued for a slow client.
const QUEUE_CAPACITY: usize = 1024;

type AnswerFuture = Pin<Box<dyn Future<Output = MethodOutcome> + Send>>;

/// A request that is being answered. Dropping it cancels the request: the client has closed the connection.
struct PendingAnswer {
    id: Id,
    /// Whether it is `subscriptions/listen`, which ends only because the proxy stops.
    listens: bool,
    answer: AnswerFuture,
    messages: mpsc::Receiver<OutboundMessage>,
    outlet: Outlet,
    /// Cancelled if the client does not read.
    overrun: CancellationToken,
    _cancel: DropGuard,
}

pub(super) async fn post_stateless(
    front: Arc<HttpFront>,
    request: Request,
    headers: HeaderMap,
    accepts: Accepts,
    caller: Caller,
    outlet: &Outlet,
) -> HttpReply {
    let (id, listens) = (request.id.clone(), request.kind == Method::SubscriptionsListen);
    let client = match admit(&request, Some(&headers), caller.principal.clone(), None) {
        Ok(client) => Arc::new(Client {
            links: front.server.links.of(&client.principal),
            facts: HttpFacts {
                headers: front.request_headers.of(&headers),
                trace_context: front.request_headers.trace_context(&headers),
                peer: outlet.peer(),
                hops: hops(&headers),
            },
            ..client
        }),
        Err(refusal) => return refusal.reply(Some(&id)),
    };
    if listens && !accepts.events {
        let error =
            RpcError::invalid_request("the `Accept` header must include text/event-stream for `subscriptions/listen`");
        return Refusal { status: StatusCode::NOT_ACCEPTABLE, error }.reply(Some(&id));
    }
    if let Some(refusal) = scope_refusal(&front, &client, std::iter::once(&request), Some(&id), &headers) {
        return refusal;
    }
    let (queue, messages) = mpsc::channel(QUEUE_CAPACITY);
    let queue = MessageQueue::new(queue, outlet.clone());
    let (outlet, overrun) = (outlet.clone(), queue.overrun.clone());
    let sink = if accepts.events { MessageSink::Queue(queue) } else { MessageSink::Discard };
    let cancel = Cancellation::default();
    let guard = cancel.token().clone().drop_guard();
    let its_front = Arc::clone(&front);
    // The HTTP status may depend on the surface, so no event stream begins before the surface is made.
    let ready = match request.kind {
        Method::ServerDiscover | Method::SubscriptionsListen => None,
        // Lists fetch what has expired before they take the surface.
        Method::List(_) => None,
        _ => Some(front.server.gateway.surface(&client.surface_handle).await),
    };
    let answer = boxed_in_place(move || async move {
        let mut surface = None;
        if let (Some(Ok(ready)), Method::ToolsCall) = (ready, request.kind) {
            let now = match its_front.server.with_item_of(&request, ready, &client, &cancel).await? {
                Ok(now) => now,
                Err(error) => return Some(Err(error)),
            };
            // Checked against the schema in the surface that the call then uses.
            if let Err(refusal) = check_param_headers(&request, &headers, &now, &client.info) {
                return Some(Err(refusal.error));
            }
            surface = Some(now);
        }
        let answer = methods::answer(&its_front.server, &client, &sink, &request, cancel, surface);
        if !listens {
            return answer.await;
        }
        // The only request without an end of its own: it must end when the client's token ends.
        let listening = async {
            tokio::select! {
                outcome = answer => outcome,
                () = revoked(&its_front, &caller) => None,
            }
        };
        Box::pin(listening).await
    });
    let answer: AnswerFuture = Box::into_pin(answer);
    let answering = PendingAnswer { id, listens, answer, messages, outlet, overrun, _cancel: guard };
    if accepts.events { answering.reply(front).await } else { answering.single(&front).await }
}

impl PendingAnswer {
    /// Replies with a single JSON response.
    async fn single(mut self, front: &HttpFront) -> HttpReply {
        let outcome = tokio::select! {
            biased;
            outcome = &mut self.answer => outcome,
            () = front.server.gateway.out_of_time() => Some(Err(methods::stopped())),
        };
        self.json_response(outcome)
    }

    /// Replies with a JSON response if the outcome arrives before any message, otherwise with an event stream.
    async fn reply(mut self, front: Arc<HttpFront>) -> HttpReply {
        let first = tokio::select! {
            biased;
            outcome = &mut self.answer => {
                // Messages that were sent before the outcome must reach the client before it.
                match self.messages.try_recv() {
                    Err(_) => return self.json_response(outcome),
                    Ok(first) => return self.stream(front, Some(first), Some(outcome)),
                }
            }
            Some(first) = self.messages.recv() => Some(first),
            () = front.stream_delay.elapsed() => None,
        };
        self.stream(front, first, None)
    }

    /// A single JSON response with the HTTP status of the outcome.
    fn json_response(&self, outcome: MethodOutcome) -> HttpReply {
        let outcome = outcome.unwrap_or_else(|| Err(RpcError::internal("the request was cancelled")));
        HttpReply::json(status(&outcome), encode::outcome(&self.id, &outcome))
    }

    /// An event stream with the messages so far, the following messages, and the outcome as its last event.
    fn stream(
        self,
        front: Arc<HttpFront>,
        first: Option<OutboundMessage>,
        outcome: Option<MethodOutcome>,
    ) -> HttpReply {
        let (frames, receiver) = mpsc::channel(QUEUE_CAPACITY);
        tokio::spawn(async move {
            let overrun = self.overrun.clone();
            tokio::select! {
                // The client closed the stream: dropping the other branch cancels the request.
                () = frames.closed() => {}
                () = overrun.cancelled() => tracing::info!("ended an event stream: the client reads too slowly"),
                () = self.feed(&front, &frames, first, outcome) => {}
            }
        });
        HttpReply::events(receiver)
    }

    async fn feed(
        mut self,
        front: &HttpFront,
        frames: &mpsc::Sender<OutboundMessage>,
        first: Option<OutboundMessage>,
        outcome: Option<MethodOutcome>,
    ) {
        if let Some(first) = first {
            send(frames, first).await;
        }
        let outcome = match outcome {
            Some(outcome) => outcome,
            None => loop {
                tokio::select! {
                    biased;
                    Some(message) = self.messages.recv() => send(frames, message).await,
                    outcome = &mut self.answer => break outcome,
                    () = front.server.gateway.out_of_time() => break Some(Err(methods::stopped())),
                }
            },
        };
        while let Ok(message) = self.messages.try_recv() {
            send(frames, message).await;
        }
        if let Some(outcome) = outcome {
            let response = encode::outcome(&self.id, &outcome);
            trace_client(Sender::Proxy, response.as_bytes());
            match self.outlet.reserve(response.len()).await {
                Ok(reservation) => {
                    let encode = |text: &[u8]| if self.listens { sse::closing(text) } else { sse::event(None, text) };
                    // Fails only if the client has closed the stream.
                    let _ = frames.send(OutboundMessage::new(response, reservation).map(encode)).await;
                }
                Err(NoRoom) => self.overrun.cancel(),
            }
        }
    }
}

async fn send(frames: &mpsc::Sender<OutboundMessage>, message: OutboundMessage) {
    // Fails only if the client has closed the stream, which `stream` detects.
    let _ = frames.send(message.map(|text| sse::event(None, text))).await;
}
