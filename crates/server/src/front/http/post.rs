//! HTTP POST with one JSON-RPC message: a request, a notification or a response.

use std::sync::Arc;

use ::http::{HeaderMap, StatusCode};

use super::batches::post_batch;
use super::negotiate::{Accepts, is_json};
use super::post_session::{initialize, post_session};
use super::post_stateless::post_stateless;
use super::session_lookup::session;
use super::{HttpFront, session_id};
use crate::client::state::surface_handle;
use crate::era::detect;
use crate::front::authenticator::Caller;
use crate::methods::vendor;
use proxy_model::{ClientProfile, Principal};
use proxy_wire::http::{HttpReply, HttpRequest};
use proxy_wire::outbound::Outlet;
use proxy_wire::{
    Message, Method, Notification, Request, RpcError, Sender, batch, encode, parse, trace_client, yield_if_large,
};

pub(super) async fn post(front: Arc<HttpFront>, request: HttpRequest, caller: Caller, outlet: &Outlet) -> HttpReply {
    let HttpRequest { headers, body, .. } = request;
    trace_client(Sender::Other, &body);
    if !is_json(&headers) {
        let error = RpcError::invalid_request("the `Content-Type` header must be application/json");
        return HttpReply::refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, &error);
    }
    let accepts = Accepts::of(&headers);
    if accepts.nothing() {
        let error =
            RpcError::invalid_request("the `Accept` header must include application/json and text/event-stream");
        return HttpReply::refusal(StatusCode::NOT_ACCEPTABLE, &error);
    }
    if let Some(items) = batch(&body) {
        return Box::pin(post_batch(front, items, &headers, &caller.principal, outlet)).await;
    }
    match parse(body).await {
        Err(invalid) => HttpReply::json(StatusCode::BAD_REQUEST, encode::error(invalid.id.as_ref(), &invalid.error)),
        Ok(Message::Request(request)) => post_request(front, request, headers, accepts, caller, outlet).await,
        Ok(Message::Notification(notification)) => {
            post_notification(&front, &notification, &headers, &caller.principal)
        }
        Ok(Message::Response(response)) => match session(&front, &headers, &caller.principal) {
            Ok(session) => {
                session.take_response(response);
                HttpReply::empty(StatusCode::ACCEPTED)
            }
            Err(refused) => refused.reply(None),
        },
    }
}

async fn post_request(
    front: Arc<HttpFront>,
    request: Request,
    headers: HeaderMap,
    accepts: Accepts,
    caller: Caller,
    outlet: &Outlet,
) -> HttpReply {
    yield_if_large(request.params.as_deref()).await;
    if detect::is_stateless(&request, Some(&headers)) {
        return post_stateless(front, request, headers, accepts, caller, outlet).await;
    }
    if request.kind == Method::Initialize {
        return Box::pin(initialize(&front, &request, caller.principal, outlet)).await;
    }
    match session(&front, &headers, &caller.principal) {
        Ok(session) => post_session(&front, session, &caller.principal, request, &headers, accepts, outlet).await,
        Err(refused) => refused.reply(Some(&request.id)),
    }
}

fn post_notification(
    front: &HttpFront,
    notification: &Notification,
    headers: &HeaderMap,
    principal: &Principal,
) -> HttpReply {
    match session_id(headers).map(|_| session(front, headers, principal)) {
        Some(Ok(session)) => {
            session.in_flight.take_notification(notification);
            vendor::forward_session_notification(&front.server, notification, &session.client());
        }
        Some(Err(refused)) => return refused.reply(None),
        None => {
            let handle = surface_handle(principal, &Arc::default(), ClientProfile::default());
            vendor::forward_notification(&front.server, notification, &handle);
        }
    }
    HttpReply::empty(StatusCode::ACCEPTED)
}
