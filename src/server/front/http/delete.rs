//! HTTP DELETE: the client ends its session.

use ::http::{HeaderMap, StatusCode};

use super::{HttpFront, SessionRefusal, method_not_allowed, session_id};
use crate::model::Principal;
use crate::wire::http::HttpReply;

impl HttpFront {
    pub(super) fn delete(&self, headers: &HeaderMap, principal: &Principal) -> HttpReply {
        let Some(id) = session_id(headers) else { return method_not_allowed() };
        if self.sessions.find(id, principal).is_none() {
            return SessionRefusal::unknown_session().reply(None);
        }
        self.end(self.sessions.remove(id));
        HttpReply::empty(StatusCode::NO_CONTENT)
    }
}
