//! HTTP GET: opens the standalone stream of a session, or resumes a stream with `Last-Event-ID`.

use std::sync::Arc;

use ::http::{HeaderMap, StatusCode};

use super::negotiate::Accepts;
use super::{HttpFront, method_not_allowed, session_id};
use crate::front::authenticator::Caller;
use proxy_wire::http::{Body, HttpReply, is_browser};
use proxy_wire::outbound::Outlet;
use proxy_wire::{RpcError, headers};

/// What a person reads who opens the address in a browser.
const FOR_CLIENTS: &str = "This address is for MCP clients: add it to the config of your client as the URL of a server. \
                           A browser cannot use it.\n";

impl HttpFront {
    pub(super) async fn get(self: &Arc<Self>, headers: &HeaderMap, caller: &Caller, outlet: &Outlet) -> HttpReply {
        if session_id(headers).is_none() {
            let body = if is_browser(headers) { Body::Text(FOR_CLIENTS) } else { Body::Empty };
            return HttpReply { body, ..method_not_allowed() };
        }
        let session = match self.session(headers, &caller.principal) {
            Ok(session) => session,
            Err(refused) => return refused.reply(None),
        };
        if !Accepts::of(headers).events {
            let error = RpcError::invalid_request("the header `Accept` must include text/event-stream");
            return HttpReply::refusal(StatusCode::NOT_ACCEPTABLE, &error);
        }
        match headers.get(&headers::LAST_EVENT_ID).map(|value| value.to_str().unwrap_or_default()) {
            None => HttpReply::events(self.until_revoked(session.listen(outlet).await, caller)),
            Some(last) => match session.resume(last.trim(), outlet).await {
                Some(frames) => HttpReply::events(self.until_revoked(frames, caller)),
                None => {
                    let error = RpcError::invalid_request("`Last-Event-ID` refers to a stream that cannot be resumed");
                    HttpReply::refusal(StatusCode::BAD_REQUEST, &error)
                }
            },
        }
    }
}
