//! Requests that stand alone.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use ::http::{HeaderMap, StatusCode};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::HttpFront;
use super::negotiate::Accepts;
use crate::model::Principal;
use crate::server::client::client::Client;
use crate::server::client::sink::MessageSink;
use crate::server::front::stateless::{admit, check_param_headers, status};
use crate::server::methods::{self, Outcome};
use crate::wire::http::HttpReply;
use crate::wire::{Id, Request, RpcError, encode, sse};

/// The status says what became of the request, so it is held back until something is known, but not for long.
const HOLD: Duration = Duration::from_millis(300);
const QUEUE: usize = 1024;

type Work = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// A request being answered. Dropping it cancels it: the client closed its connection.
struct Answering {
    id: Id,
    work: Work,
    messages: mpsc::Receiver<String>,
    _cancel: DropGuard,
}

impl HttpFront {
    pub(super) async fn post_stateless(
        self: Arc<Self>,
        request: Request,
        headers: HeaderMap,
        accepts: Accepts,
        principal: Principal,
    ) -> HttpReply {
        let id = request.id.clone();
        let refuse = |status, error: &RpcError| HttpReply::json(status, encode::error(Some(&id), error));
        let client = match admit(&request, Some(&headers), principal, None) {
            Ok(client) => Arc::new(Client {
                links: self.server.links.of(&client.principal),
                headers: self.request_headers.of(&headers),
                ..client
            }),
            Err(refusal) => return refuse(refusal.status, &refusal.error),
        };
        // The headers are checked against the schema in the surface, on which the call then runs.
        let surface = match request.method.as_str() {
            "tools/call" => self.server.surface(&client).await.ok(),
            _ => None,
        };
        if let Some(surface) = &surface
            && let Err(refusal) = check_param_headers(&request, &headers, surface)
        {
            return refuse(refusal.status, &refusal.error);
        }
        if request.method == "subscriptions/listen" && !accepts.events {
            let error = RpcError::invalid_request("a subscription is an event stream: accept text/event-stream");
            return refuse(StatusCode::NOT_ACCEPTABLE, &error);
        }
        let (queue, messages) = mpsc::channel(QUEUE);
        let sink = if accepts.events { MessageSink::Queue(queue) } else { MessageSink::Nowhere };
        let cancel = CancellationToken::new();
        let guard = cancel.clone().drop_guard();
        let work: Work = Box::pin(async move {
            let answer = methods::answer(&self.server, &client, &sink, &request, cancel, surface);
            if request.method != "subscriptions/listen" {
                return answer.await;
            }
            // The only request that lasts, and so may outlive the right to make it.
            let listening = async {
                tokio::select! {
                    outcome = answer => outcome,
                    () = self.shut_out(&client.principal) => None,
                }
            };
            Box::pin(listening).await
        });
        let answering = Answering { id, work, messages, _cancel: guard };
        if accepts.events { answering.reply().await } else { answering.single().await }
    }
}

impl Answering {
    /// One JSON answer, however long it takes.
    async fn single(mut self) -> HttpReply {
        let outcome = (&mut self.work).await;
        self.whole(outcome)
    }

    async fn reply(mut self) -> HttpReply {
        let first = tokio::select! {
            biased;
            outcome = &mut self.work => {
                // What was said before the outcome must reach the client before it.
                match self.messages.try_recv() {
                    Err(_) => return self.whole(outcome),
                    Ok(first) => return self.stream(Some(first), Some(outcome)),
                }
            }
            Some(first) = self.messages.recv() => Some(first),
            () = tokio::time::sleep(HOLD) => None,
        };
        self.stream(first, None)
    }

    fn whole(&self, outcome: Outcome) -> HttpReply {
        let outcome = outcome.unwrap_or_else(|| Err(RpcError::internal("the request was cancelled")));
        HttpReply::json(status(&outcome), encode::outcome(&self.id, &outcome))
    }

    fn stream(self, first: Option<String>, outcome: Option<Outcome>) -> HttpReply {
        let (frames, receiver) = mpsc::channel(QUEUE);
        tokio::spawn(async move {
            tokio::select! {
                // The client closed the stream: dropping the rest cancels it.
                () = frames.closed() => {}
                () = self.feed(&frames, first, outcome) => {}
            }
        });
        HttpReply::events(receiver)
    }

    async fn feed(mut self, frames: &mpsc::Sender<String>, first: Option<String>, outcome: Option<Outcome>) {
        if let Some(first) = first {
            send(frames, &first).await;
        }
        let outcome = match outcome {
            Some(outcome) => outcome,
            None => loop {
                tokio::select! {
                    biased;
                    Some(message) = self.messages.recv() => send(frames, &message).await,
                    outcome = &mut self.work => break outcome,
                }
            },
        };
        while let Ok(message) = self.messages.try_recv() {
            send(frames, &message).await;
        }
        if let Some(outcome) = outcome {
            send(frames, &encode::outcome(&self.id, &outcome)).await;
        }
    }
}

async fn send(frames: &mpsc::Sender<String>, message: &str) {
    // If nobody reads any more, the select above ends all this.
    let _ = frames.send(sse::event(None, message)).await;
}
