//! HTTP DELETE: the client ends its session.

use ::http::{HeaderMap, StatusCode};

use super::{HttpFront, method_not_allowed, session_id};
use crate::front::refusal::Refusal;
use proxy_model::Principal;
use proxy_wire::http::HttpReply;

impl HttpFront {
    pub(super) fn delete(&self, headers: &HeaderMap, principal: &Principal) -> HttpReply {
        let Some(id) = session_id(headers) else { return method_not_allowed() };
        if self.sessions.find(id, principal).is_none() {
            return Refusal::unknown_session().reply(None);
        }
        self.end(self.sessions.remove(id));
        HttpReply::empty(StatusCode::NO_CONTENT)
    }
}
