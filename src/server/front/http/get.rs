//! A GET: the stream on which the proxy speaks unasked, or one that is taken up again.

use ::http::{HeaderMap, StatusCode};

use super::negotiate::Accepts;
use super::{HttpFront, method_not_allowed, session_id};
use crate::model::Principal;
use crate::wire::http::HttpReply;
use crate::wire::{RpcError, headers};

impl HttpFront {
    pub(super) async fn get(&self, headers: &HeaderMap, principal: &Principal) -> HttpReply {
        if session_id(headers).is_none() {
            return method_not_allowed();
        }
        let session = match self.session(headers, principal) {
            Ok(session) => session,
            Err(refused) => return refused.reply(None),
        };
        if !Accepts::of(headers).events {
            let error = RpcError::invalid_request("accept text/event-stream");
            return HttpReply::refusal(StatusCode::NOT_ACCEPTABLE, &error);
        }
        match headers.get(&headers::LAST_EVENT_ID).map(|value| value.to_str().unwrap_or_default()) {
            None => HttpReply::events(session.listen().await),
            Some(last) => match session.resume(last.trim()).await {
                Some(frames) => HttpReply::events(frames),
                None => {
                    let error = RpcError::invalid_request("`Last-Event-ID` names no stream that can be taken up again");
                    HttpReply::refusal(StatusCode::BAD_REQUEST, &error)
                }
            },
        }
    }
}
