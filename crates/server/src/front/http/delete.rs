//! HTTP DELETE: the client ends its session.

use ::http::{HeaderMap, StatusCode};

use super::{HttpFront, method_not_allowed, session_id};
use crate::front::refusal::Refusal;
use crate::front::sessions::{EndedSession, OpenedId};
use crate::replicas::SessionsEnd;
use proxy_model::{Owner, Principal};
use proxy_wire::http::HttpReply;

pub(super) async fn delete(front: &HttpFront, headers: &HeaderMap, principal: &Principal) -> HttpReply {
    let Some(id) = session_id(headers) else { return method_not_allowed() };
    if front.sessions.find(id, principal).is_none() && has_ended_elsewhere(front, id, principal).await {
        return Refusal::unknown_session().reply(None);
    }
    let Some(EndedSession { id, session }) = front.sessions.end(id, principal) else {
        return Refusal::unknown_session().reply(None);
    };
    match session {
        Some(session) => front.server.end_sessions([session]),
        // It was in use elsewhere, or before.
        None => front.server.forget_values_soon(principal, &Owner::Session(id.sid)),
    }
    // What could not be written is in the log, and is written later.
    let _ = front.server.replicas.end(SessionsEnd::Session(id.sid.digest())).await;
    front.server.end_left_connections(id.sid.digest());
    HttpReply::empty(StatusCode::NO_CONTENT)
}

/// Whether the store knows that a session has ended.
async fn has_ended_elsewhere(front: &HttpFront, id: &str, principal: &Principal) -> bool {
    let Some(OpenedId { id, .. }) = front.sessions.open(id, principal) else { return false };
    let known = front.server.replicas.session(id.sid.digest(), principal).await;
    known.is_ok_and(|known| known.has_ended || id.born <= known.epoch)
}
