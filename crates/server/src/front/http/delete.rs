//! HTTP DELETE: the client ends its session.

use ::http::{HeaderMap, StatusCode};

use super::{HttpFront, method_not_allowed, session_id};
use crate::front::refusal::Refusal;
use crate::front::sessions::EndedSession;
use crate::replicas::SessionsEnd;
use proxy_model::{Owner, Principal};
use proxy_wire::http::HttpReply;

pub(super) async fn delete(front: &HttpFront, headers: &HeaderMap, principal: &Principal) -> HttpReply {
    let Some(id) = session_id(headers) else { return method_not_allowed() };
    let Some(EndedSession { id, session }) = front.sessions.end(id, principal) else {
        return Refusal::unknown_session().reply(None);
    };
    match session {
        Some(session) => front.server.end_sessions([session]),
        // It was in use elsewhere, or before.
        None => front.server.forget_values_soon(principal, &Owner::Session(id.sid)),
    }
    front.server.replicas.end(SessionsEnd::Session(id.sid.digest())).await;
    HttpReply::empty(StatusCode::NO_CONTENT)
}
