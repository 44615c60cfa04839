//! HTTP POST with a session-based request.

use std::sync::Arc;

use ::http::{HeaderMap, HeaderValue, StatusCode};
use tokio::sync::oneshot;

use super::HttpFront;
use super::negotiate::Accepts;
use crate::fiber::CommonDelay;
use crate::model::{Principal, is_protocol_method};
use crate::server::client::session_stream::SessionStream;
use crate::server::client::sink::MessageSink;
use crate::server::client::state::Client;
use crate::server::front::session::Session;
use crate::server::front::session_id::SessionId;
use crate::server::front::sessions::AddedSession;
use crate::server::methods::{self, initialize};
use crate::wire::http::HttpReply;
use crate::wire::outbound::Outlet;
use crate::wire::{Request, RpcError, encode, headers};

impl HttpFront {
    /// Opens a session. A session id in the request is ignored.
    pub(super) async fn initialize(&self, request: &Request, principal: Principal, outlet: &Outlet) -> HttpReply {
        let handshake = match initialize::negotiate(request) {
            Ok(agreed) => agreed,
            Err(error) => return HttpReply::json(StatusCode::OK, encode::error(Some(&request.id), &error)),
        };
        let client = handshake.client(principal).timed(self.server.telemetry.proxy());
        let client = Client { peer: outlet.peer(), ..client };
        let Ok(id) = SessionId::random() else {
            let error = RpcError::internal("cannot open a session: the random number generator failed");
            return HttpReply::json(StatusCode::OK, encode::error(Some(&request.id), &error));
        };
        let session = Arc::new(Session::new(id, client, &self.replay_budget));
        self.server.clients.add(Arc::downgrade(&session.client()));
        let Some(AddedSession { id, removed }) = self.sessions.add(Arc::clone(&session)) else {
            let error =
                RpcError::internal("too many sessions, and all of yours are in use; end one or try again later");
            return HttpReply::json(StatusCode::SERVICE_UNAVAILABLE, encode::error(Some(&request.id), &error));
        };
        self.end(removed);
        let body = encode::result(&request.id, &initialize::result(&self.server, &session.client()).await);
        match HeaderValue::from_str(&id) {
            Ok(id) => HttpReply::json(StatusCode::OK, body).with_header(headers::SESSION_ID.clone(), id),
            Err(_) => HttpReply::empty(StatusCode::INTERNAL_SERVER_ERROR),
        }
    }

    pub(super) async fn post_session(
        &self,
        session: Arc<Session>,
        principal: &Principal,
        request: Request,
        headers: &HeaderMap,
        accepts: Accepts,
        outlet: &Outlet,
    ) -> HttpReply {
        let client = self.request_headers.added_to(&session.client_of(principal), headers, outlet.peer());
        if let Some(refusal) = self.scope_refusal(&client, std::iter::once(&request), Some(&request.id), headers) {
            return refusal;
        }
        let running = match session.in_flight.begin(&request.id) {
            Ok(running) => running,
            Err(error) => return HttpReply::json(StatusCode::OK, encode::error(Some(&request.id), &error)),
        };
        let server = self.server.clone();
        let may_stream =
            matches!(request.method.as_str(), "tools/call" | "resources/read" | "prompts/get" | "tasks/result")
                || !is_protocol_method(&request.method);
        let stream = (may_stream && accepts.events).then(|| session.new_stream());
        let (answer, answered) = oneshot::channel();
        // In session-based revisions a closed connection does not cancel the request, so it runs in its own task.
        let answering = {
            let (session, stream) = (Arc::clone(&session), stream.clone());
            async move {
                let sink = stream.clone().map_or(MessageSink::Discard, MessageSink::SessionStream);
                let cancel = running.cancel.clone();
                let outcome = methods::answer(&server, &client, &sink, &request, cancel, None).await;
                session.touch();
                // Before the response is sent: from then on the client may reuse the id.
                drop(running);
                let outcome = outcome.map(|outcome| encode::outcome(&request.id, &outcome));
                let Some(stream) = stream else { return drop(answer.send(outcome)) };
                // What was said before must reach the client before the response.
                let unsent = if stream.is_silent() { answer.send(outcome).err() } else { Some(outcome) };
                if let Some(Some(response)) = unsent {
                    stream.push(&response).await;
                }
                stream.finish();
            }
        };
        tokio::spawn(answering);
        match stream {
            None => single(answered.await),
            Some(stream) if !accepts.json => HttpReply::events(session.open(&stream, outlet)),
            Some(stream) => json_or_events(&session, &stream, answered, &self.stream_delay, outlet).await,
        }
    }
}

/// The response to a request, encoded; `None` if the client cancelled it.
type Answer = Option<String>;

fn single(answer: Result<Answer, oneshot::error::RecvError>) -> HttpReply {
    match answer {
        Ok(Some(text)) => HttpReply::json(StatusCode::OK, text),
        _ => HttpReply::empty(StatusCode::ACCEPTED),
    }
}

/// One JSON body if the response comes soon and nothing is said before it: an event stream costs both sides several
/// more packets. Otherwise the stream is opened.
async fn json_or_events(
    session: &Session,
    stream: &Arc<SessionStream>,
    mut answered: oneshot::Receiver<Answer>,
    delay: &CommonDelay,
    outlet: &Outlet,
) -> HttpReply {
    tokio::select! {
        biased;
        // The sender is dropped without an answer if something was said.
        Ok(answer) = &mut answered => return single(Ok(answer)),
        () = stream.wanted() => {}
        () = delay.elapsed() => {}
    }
    // From here on the response goes to the stream, unless it came in this very moment.
    answered.close();
    match answered.try_recv() {
        Ok(answer) => single(Ok(answer)),
        Err(_) => HttpReply::events(session.open(stream, outlet)),
    }
}
