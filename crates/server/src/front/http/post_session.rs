//! HTTP POST with a session-based request.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ::http::{HeaderMap, HeaderValue, StatusCode};
use tokio::runtime::Handle;

use super::HttpFront;
use super::negotiate::Accepts;
use super::scope_check::scope_refusal;
use crate::client::session_stream::SessionStream;
use crate::client::sink::MessageSink;
use crate::client::state::{Client, HttpFacts};
use crate::front::refusal::Refusal;
use crate::front::session::Session;
use crate::front::sessions::AddedSession;
use crate::methods::{self, initialize};
use proxy_fiber::{CommonDelay, boxed_in_place};
use proxy_model::Principal;
use proxy_wire::http::HttpReply;
use proxy_wire::outbound::Outlet;
use proxy_wire::{Method, Request, RpcError, encode, headers};

/// Opens a session. A session id in the request is ignored.
pub(super) async fn initialize(
    front: &HttpFront,
    request: &Request,
    principal: Principal,
    outlet: &Outlet,
) -> HttpReply {
    // The time by which a session is born is that of the store.
    front.server.replicas.time().known().await;
    let handshake = match initialize::negotiate(request) {
        Ok(agreed) => agreed,
        Err(error) => return HttpReply::json(StatusCode::OK, encode::error(Some(&request.id), &error)),
    };
    let Ok(mut id) = front.sessions.new_id(&principal, &handshake) else {
        let error = RpcError::internal("cannot open a session: the random number generator failed");
        return HttpReply::json(StatusCode::OK, encode::error(Some(&request.id), &error));
    };
    if !id.is_complete
        && let Some(sealed) = front.sessions.seal_client(&id, &principal, &handshake)
    {
        id.is_complete = front.server.replicas.keep_client(id.sid.digest(), &sealed).await;
    }
    let client = handshake.client(principal).timed(front.server.telemetry.proxy());
    let client = Client { facts: HttpFacts { peer: outlet.peer(), ..client.facts }, ..client };
    let session = Arc::new(Session::new(id, client, &front.replay_budget));
    let Ok(AddedSession { session, removed, .. }) = front.sessions.add(session) else {
        return Refusal::too_many_sessions().reply(Some(&request.id));
    };
    front.server.clients.add(Arc::downgrade(&session.client()));
    front.make_room(removed);
    let body = encode::result(&request.id, &initialize::result(&front.server, &session.client()).await);
    match HeaderValue::from_str(&session.id.text) {
        Ok(id) => HttpReply::json(StatusCode::OK, body).with_header(headers::SESSION_ID.clone(), id),
        Err(_) => HttpReply::empty(StatusCode::INTERNAL_SERVER_ERROR),
    }
}

pub(super) async fn post_session(
    front: &HttpFront,
    session: Arc<Session>,
    principal: &Principal,
    request: Request,
    headers: &HeaderMap,
    accepts: Accepts,
    outlet: &Outlet,
) -> HttpReply {
    let client = front.request_headers.added_to(&session.client_of(principal), headers, outlet.peer());
    if let Some(refusal) = scope_refusal(front, &client, std::iter::once(&request), Some(&request.id), headers) {
        return refusal;
    }
    let running = match session.in_flight.begin(&request.id) {
        Ok(running) => running,
        Err(error) => return HttpReply::json(StatusCode::OK, encode::error(Some(&request.id), &error)),
    };
    let server = front.server.clone();
    let may_stream = matches!(
        request.kind,
        Method::ToolsCall | Method::ResourcesRead | Method::PromptsGet | Method::TasksResult | Method::Vendor
    );
    let stream = (may_stream && accepts.events).then(|| session.new_stream());
    let (its_session, its_stream) = (Arc::clone(&session), stream.clone());
    let future = boxed_in_place(move || async move {
        let sink = its_stream.map_or(MessageSink::Discard, MessageSink::SessionStream);
        let cancel = running.cancel.clone();
        let outcome = methods::answer(&server, &client, &sink, &request, cancel, None).await;
        its_session.touch();
        // Before the response is sent: from then on the client may reuse the id.
        drop(running);
        outcome.map(|outcome| encode::outcome(&request.id, &outcome))
    });
    let answering = Answering { future: Some(Box::into_pin(future)), stream: stream.clone() };
    match stream {
        None => single(answering.finished().await),
        Some(stream) if !accepts.json => {
            answering.detach();
            HttpReply::events(session.open(&stream, outlet))
        }
        Some(stream) => json_or_events(&session, &stream, answering, &front.stream_delay, outlet).await,
    }
}

/// The response to a request, encoded; `None` if the client cancelled it.
type Answer = Option<String>;

/// A request that is being answered. In session-based revisions a closed connection does not cancel it: dropped, it goes on
/// in a task of its own, and its response goes to its stream.
struct Answering {
    /// `None` once there is an answer.
    future: Option<Pin<Box<dyn Future<Output = Answer> + Send>>>,
    stream: Option<Arc<SessionStream>>,
}

impl Answering {
    /// Not polled again once there is an answer.
    fn poll_answer(&mut self, context: &mut Context<'_>) -> Poll<Answer> {
        // One that panics is not polled again when this is dropped.
        let Some(mut future) = self.future.take() else { return Poll::Pending };
        let answer = future.as_mut().poll(context);
        if answer.is_pending() {
            self.future = Some(future);
        }
        answer
    }

    async fn finished(mut self) -> Answer {
        poll_fn(|context| self.poll_answer(context)).await
    }

    /// Goes on in a task.
    fn detach(self) {
        drop(self);
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let (future, stream) = (self.future.take(), self.stream.take());
        // Without a runtime the proxy has ended.
        if let (Some(future), Ok(runtime)) = (future, Handle::try_current()) {
            runtime.spawn(async move {
                let stream = stream.map(FinishedOnDrop);
                let answer = future.await;
                if let Some(stream) = stream {
                    end_with(stream, answer).await;
                }
            });
        }
    }
}

/// Finishes its stream, whatever happens to the task that has it.
struct FinishedOnDrop(Arc<SessionStream>);

impl Drop for FinishedOnDrop {
    fn drop(&mut self) {
        self.0.finish();
    }
}

/// Ends a stream with the response.
async fn end_with(stream: FinishedOnDrop, answer: Answer) {
    if let Some(response) = answer {
        stream.0.push(&response).await;
    }
}

fn single(answer: Answer) -> HttpReply {
    match answer {
        Some(text) => HttpReply::json(StatusCode::OK, text),
        None => HttpReply::empty(StatusCode::ACCEPTED),
    }
}

/// One JSON body if the response comes soon and nothing is said before it: an event stream costs both sides several
/// more packets. Otherwise the stream is opened.
async fn json_or_events(
    session: &Session,
    stream: &Arc<SessionStream>,
    mut answering: Answering,
    delay: &CommonDelay,
    outlet: &Outlet,
) -> HttpReply {
    tokio::select! {
        // An answer that is there comes first; the other two need not even be looked at.
        biased;
        answer = poll_fn(|context| answering.poll_answer(context)) => {
            if stream.is_silent() {
                stream.finish();
                return single(answer);
            }
            // What was said before must reach the client before the response.
            tokio::spawn(end_with(FinishedOnDrop(Arc::clone(stream)), answer));
        }
        () = stream.wanted() => {}
        () = delay.elapsed() => {}
    }
    answering.detach();
    HttpReply::events(session.open(stream, outlet))
}
