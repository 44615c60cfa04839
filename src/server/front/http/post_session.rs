//! HTTP POST with a session-based request.

use std::sync::Arc;

use ::http::{HeaderMap, HeaderValue, StatusCode};

use super::HttpFront;
use super::negotiate::Accepts;
use crate::model::{Principal, is_protocol_method};
use crate::server::client::sink::MessageSink;
use crate::server::front::session::Session;
use crate::server::methods::{self, initialize};
use crate::wire::http::HttpReply;
use crate::wire::{Request, RpcError, encode, headers};

impl HttpFront {
    /// Opens a session. A session id in the request is ignored.
    pub(super) async fn initialize(&self, request: &Request, principal: Principal) -> HttpReply {
        let handshake = match initialize::negotiate(request) {
            Ok(agreed) => agreed,
            Err(error) => return HttpReply::json(StatusCode::OK, encode::error(Some(&request.id), &error)),
        };
        let session = Arc::new(Session::new(handshake.client(principal), &self.replay_budget));
        self.server.clients.add(Arc::downgrade(&session.client));
        let Some(id) = self.sessions.add(Arc::clone(&session)) else {
            let error = RpcError::internal("too many sessions; try again later");
            return HttpReply::json(StatusCode::SERVICE_UNAVAILABLE, encode::error(Some(&request.id), &error));
        };
        let body = encode::result(&request.id, &initialize::result(&self.server, &session.client).await);
        match HeaderValue::from_str(&id) {
            Ok(id) => HttpReply::json(StatusCode::OK, body).with_header(headers::SESSION_ID.clone(), id),
            Err(_) => HttpReply::empty(StatusCode::INTERNAL_SERVER_ERROR),
        }
    }

    pub(super) async fn post_session(
        &self,
        session: Arc<Session>,
        request: Request,
        headers: &HeaderMap,
        accepts: Accepts,
    ) -> HttpReply {
        let client = self.request_headers.added_to(&session.client, headers);
        let running = match session.in_flight.begin(&request.id) {
            Ok(running) => running,
            Err(error) => return HttpReply::json(StatusCode::OK, encode::error(Some(&request.id), &error)),
        };
        let server = self.server.clone();
        let may_stream =
            matches!(request.method.as_str(), "tools/call" | "resources/read" | "prompts/get" | "tasks/result")
                || !is_protocol_method(&request.method);
        if !may_stream || !accepts.events {
            // In session-based revisions a closed connection does not cancel the request, so it runs in its own task.
            let answer = tokio::spawn(async move {
                let cancel = running.cancel.clone();
                let outcome = methods::answer(&server, &client, &MessageSink::Discard, &request, cancel, None).await;
                drop(running);
                outcome.map(|outcome| encode::outcome(&request.id, &outcome))
            });
            return match answer.await {
                Ok(Some(text)) => HttpReply::json(StatusCode::OK, text),
                _ => HttpReply::empty(StatusCode::ACCEPTED),
            };
        }
        let (stream, frames) = session.open();
        tokio::spawn(async move {
            let sink = MessageSink::SessionStream(Arc::clone(&stream));
            let cancel = running.cancel.clone();
            let outcome = methods::answer(&server, &client, &sink, &request, cancel, None).await;
            session.touch();
            // Before the response is sent: from then on the client may reuse the id.
            drop(running);
            if let Some(outcome) = outcome {
                stream.push(&encode::outcome(&request.id, &outcome)).await;
            }
            stream.finish();
        });
        HttpReply::events(frames)
    }
}
