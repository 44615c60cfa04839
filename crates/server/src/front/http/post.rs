//! HTTP POST with one JSON-RPC message: a request, a notification or a response.

use std::sync::Arc;

use ::http::{HeaderMap, StatusCode};

use super::batches::post_batch;
use super::negotiate::{Accepts, is_json};
use super::post_session::{initialize, post_session};
use super::post_stateless::post_stateless;
use super::session_lookup::session;
use super::{HttpFront, session_id};
use crate::client::pending_questions::home_of;
use crate::client::state::surface_handle;
use crate::era::detect;
use crate::front::authenticator::Caller;
use crate::front::refusal::Refusal;
use crate::front::session::Session;
use crate::methods::vendor;
use crate::replicas::{HomeNote, News, NotForwarded};
use proxy_json::Raw;
use proxy_model::{ClientProfile, Home, Owner, Principal};
use proxy_wire::http::{HttpReply, HttpRequest};
use proxy_wire::outbound::Outlet;
use proxy_wire::{
    Message, Method, Notification, Request, Response, RpcError, Sender, batch, encode, parse, trace_client,
    yield_if_large,
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
            post_notification(&front, &notification, &headers, &caller.principal).await
        }
        Ok(Message::Response(response)) => match session(&front, &headers, &caller.principal).await {
            Ok(session) => post_response(&front, &session, response).await,
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
    match session(&front, &headers, &caller.principal).await {
        Ok(session) => post_session(&front, session, &caller.principal, request, &headers, accepts, outlet).await,
        Err(refused) => refused.reply(Some(&request.id)),
    }
}

async fn post_notification(
    front: &HttpFront,
    notification: &Notification,
    headers: &HeaderMap,
    principal: &Principal,
) -> HttpReply {
    let session = match session_id(headers) {
        Some(_) => Some(session(front, headers, principal).await),
        None => None,
    };
    match session {
        Some(Ok(session)) => {
            if let Some(params) = session.in_flight.take_notification(notification) {
                cancel_elsewhere(front, &session, params);
            }
            vendor::forward_session_notification(&front.server, notification, &session.client());
        }
        Some(Err(refused)) => return refused.reply(None),
        None => {
            let handle = surface_handle(principal, &Arc::default(), ClientProfile::default());
            vendor::forward_notification(&front.server, notification, &handle, &Owner::new_request());
        }
    }
    HttpReply::empty(StatusCode::ACCEPTED)
}

/// Hands a response to the process that has sent the request.
async fn post_response(front: &HttpFront, session: &Session, response: Response) -> HttpReply {
    let home = response.id.as_ref().and_then(home_of).filter(|home| *home != Home::of_this_process());
    let Some((home, id)) = home.zip(response.id.as_ref()) else {
        session.take_response(response);
        return HttpReply::empty(StatusCode::ACCEPTED);
    };
    let Ok(message) = proxy_json::valid(encode::outcome(id, &response.outcome)) else {
        return HttpReply::empty(StatusCode::ACCEPTED);
    };
    let (session, person) = named(session);
    let note = HomeNote::Response { session, person, message };
    match front.server.replicas.send(home, &note).await {
        Ok(()) | Err(NotForwarded::Gone) => HttpReply::empty(StatusCode::ACCEPTED),
        Err(NotForwarded::Unreachable) => Refusal::unreachable().reply(None),
    }
}

/// Cancels a request that another process may be running.
fn cancel_elsewhere(front: &HttpFront, session: &Session, params: &Raw) {
    let replicas = Arc::clone(&front.server.replicas);
    if replicas.store().is_none() {
        return;
    }
    let (session, person) = named(session);
    let news = News::Cancelled { session, person, params: params.clone() };
    tokio::spawn(async move { replicas.tell(&news).await });
}

/// How notes name a session, and its user.
fn named(session: &Session) -> (String, String) {
    (session.digest().to_string(), Owner::of_handles(&session.client().principal).text(""))
}
