//! A DELETE: the client ends its session.

use ::http::{HeaderMap, StatusCode};

use super::{HttpFront, method_not_allowed, session_id, unknown_session};
use crate::model::Principal;
use crate::wire::http::HttpReply;

impl HttpFront {
    pub(super) fn delete(&self, headers: &HeaderMap, principal: &Principal) -> HttpReply {
        let Some(id) = session_id(headers) else { return method_not_allowed() };
        if self.sessions.find(id, principal).is_none() {
            return unknown_session();
        }
        self.sessions.remove(id);
        HttpReply::empty(StatusCode::NO_CONTENT)
    }
}
