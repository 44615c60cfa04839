//! HTTP POST with one JSON-RPC message: a request, a notification or a response.

use std::sync::Arc;

use ::http::{HeaderMap, StatusCode};

use super::negotiate::{Accepts, is_json};
use super::{HttpFront, session_id};
use crate::client::state::surface_handle;
use crate::era::detect;
use crate::front::authenticator::Caller;
use crate::front::refusal::Refusal;
use crate::front::session::Session;
use crate::methods::vendor;
use proxy_model::{ClientProfile, Principal};
use proxy_wire::http::{HttpReply, HttpRequest};
use proxy_wire::outbound::Outlet;
use proxy_wire::{
    Message, Notification, Request, Revision, RpcError, Sender, batch, encode, headers, parse, trace_client,
    yield_if_large,
};

impl HttpFront {
    pub(super) async fn post(self: Arc<Self>, request: HttpRequest, caller: Caller, outlet: &Outlet) -> HttpReply {
        let HttpRequest { headers, body, .. } = request;
        trace_client(Sender::Other, &body);
        if !is_json(&headers) {
            let error = RpcError::invalid_request("the header `Content-Type` must be application/json");
            return HttpReply::refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, &error);
        }
        let accepts = Accepts::of(&headers);
        if accepts.nothing() {
            let error =
                RpcError::invalid_request("the header `Accept` must include application/json and text/event-stream");
            return HttpReply::refusal(StatusCode::NOT_ACCEPTABLE, &error);
        }
        if let Some(items) = batch(&body) {
            return Box::pin(self.post_batch(items, &headers, &caller.principal, outlet)).await;
        }
        match parse(body).await {
            Err(invalid) => {
                HttpReply::json(StatusCode::BAD_REQUEST, encode::error(invalid.id.as_ref(), &invalid.error))
            }
            Ok(Message::Request(request)) => self.post_request(request, headers, accepts, caller, outlet).await,
            Ok(Message::Notification(notification)) => {
                self.post_notification(&notification, &headers, &caller.principal)
            }
            Ok(Message::Response(response)) => match self.session(&headers, &caller.principal) {
                Ok(session) => {
                    session.take_response(response);
                    HttpReply::empty(StatusCode::ACCEPTED)
                }
                Err(refused) => refused.reply(None),
            },
        }
    }

    async fn post_request(
        self: Arc<Self>,
        request: Request,
        headers: HeaderMap,
        accepts: Accepts,
        caller: Caller,
        outlet: &Outlet,
    ) -> HttpReply {
        yield_if_large(request.params.as_deref()).await;
        if detect::is_stateless(&request, Some(&headers)) {
            return self.post_stateless(request, headers, accepts, caller, outlet).await;
        }
        if request.method == "initialize" {
            return Box::pin(self.initialize(&request, caller.principal, outlet)).await;
        }
        match self.session(&headers, &caller.principal) {
            Ok(session) => self.post_session(session, &caller.principal, request, &headers, accepts, outlet).await,
            Err(refused) => refused.reply(Some(&request.id)),
        }
    }

    fn post_notification(&self, notification: &Notification, headers: &HeaderMap, principal: &Principal) -> HttpReply {
        match session_id(headers).map(|_| self.session(headers, principal)) {
            Some(Ok(session)) => {
                session.in_flight.take_notification(notification);
                vendor::forward_session_notification(&self.server, notification, &session.client());
            }
            Some(Err(refused)) => return refused.reply(None),
            None => {
                let handle = surface_handle(principal, &Arc::default(), ClientProfile::default());
                vendor::forward_notification(&self.server, notification, &handle);
            }
        }
        HttpReply::empty(StatusCode::ACCEPTED)
    }

    /// The session of a request. Also checks that the header `MCP-Protocol-Version`, if present, is a known version.
    pub(super) fn session(&self, headers: &HeaderMap, principal: &Principal) -> Result<Arc<Session>, Refusal> {
        let Some(id) = session_id(headers) else {
            let error = RpcError::invalid_request(
                "no session: send `initialize` and then its `Mcp-Session-Id` with each request, or use protocol version \
                 2026-07-28 with `_meta` in every request",
            );
            return Err(Refusal::bad_request(error));
        };
        let session = self.sessions.find(id, principal).ok_or_else(Refusal::unknown_session)?;
        if let Some(version) = headers.get(&headers::PROTOCOL_VERSION)
            && !version.to_str().is_ok_and(|version| Revision::parse(version.trim()).is_some())
        {
            let error = RpcError::invalid_request("the header `MCP-Protocol-Version` is not a supported version");
            return Err(Refusal::bad_request(error));
        }
        self.follow(&session, principal);
        Ok(session)
    }

    /// Gives the session another surface if its user has changed, and announces the lists that differ.
    fn follow(&self, session: &Arc<Session>, principal: &Principal) {
        let Some((before, now)) = session.follow(principal) else { return };
        self.server.clients.replace(&Arc::downgrade(&before), Arc::downgrade(&now));
        let (gateway, session) = (Arc::clone(&self.server.gateway), Arc::clone(session));
        tokio::spawn(async move {
            let Ok(surface) = gateway.surface(&now.surface_handle).await else { return };
            let Some(seen) = now.session().map(|session| &session.seen_lists) else { return };
            for method in seen.replace(surface.list_digests()) {
                session.notify(method).await;
            }
        });
    }
}
