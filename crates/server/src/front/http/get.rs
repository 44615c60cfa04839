//! HTTP GET: opens the standalone stream of a session, or resumes a stream with `Last-Event-ID`.

use std::sync::Arc;

use ::http::{HeaderMap, StatusCode};

use super::admission::until_revoked;
use super::negotiate::Accepts;
use super::session_lookup::{session, tell_listener, tell_missed_lists};
use super::{HttpFront, method_not_allowed, session_id};
use crate::client::event_id::EventId;
use crate::front::authenticator::Caller;
use crate::front::refusal::Refusal;
use proxy_wire::http::{Body, HttpReply, is_browser};
use proxy_wire::outbound::Outlet;
use proxy_wire::{RpcError, headers};

/// What a person reads who opens the address in a browser.
const FOR_CLIENTS: &str = "This address is for MCP clients. Add it to your client's config as a server URL. A browser \
                           cannot use it.\n";

pub(super) async fn get(front: &Arc<HttpFront>, headers: &HeaderMap, caller: &Caller, outlet: &Outlet) -> HttpReply {
    if session_id(headers).is_none() {
        let body = if is_browser(headers) { Body::Text(FOR_CLIENTS) } else { Body::Empty };
        return HttpReply { body, ..method_not_allowed() };
    }
    let session = match session(front, headers, &caller.principal).await {
        Ok(session) => session,
        Err(refused) => return refused.reply(None),
    };
    if !Accepts::of(headers).events {
        let error = RpcError::invalid_request("the `Accept` header must include text/event-stream");
        return HttpReply::refusal(StatusCode::NOT_ACCEPTABLE, &error);
    }
    if let Some(home) = last_event(headers).and_then(EventId::home_of_call)
        && front.server.replicas.lives(home).await
    {
        return Refusal::stream_elsewhere().reply(None);
    }
    let frames = match headers.get(&headers::LAST_EVENT_ID).map(|value| value.to_str().unwrap_or_default()) {
        None => Some(session.listen(outlet).await),
        Some(last) => session.resume(last.trim(), outlet).await,
    };
    let Some(frames) = frames else {
        let error = RpcError::invalid_request("`Last-Event-ID` refers to a stream that cannot be resumed");
        return HttpReply::refusal(StatusCode::BAD_REQUEST, &error);
    };
    if last_event(headers).is_none_or(EventId::is_of_listener) {
        tell_listener(front, &session);
    }
    tell_missed_lists(front, &session);
    HttpReply::events(until_revoked(front, frames, caller))
}

/// The event after which a stream is resumed.
fn last_event(headers: &HeaderMap) -> Option<EventId> {
    EventId::parse(headers.get(&headers::LAST_EVENT_ID)?.to_str().ok()?.trim())
}
