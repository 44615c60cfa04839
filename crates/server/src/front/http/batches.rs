//! HTTP POST with a JSON-RPC batch, which only 2025-03-26 supports.

use std::sync::Arc;

use ::http::{HeaderMap, StatusCode};

use super::scope_check::scope_refusal;
use super::session_lookup::session;
use super::{HttpFront, session_id};
use crate::client::sink::MessageSink;
use crate::front::batch;
use proxy_json::Raw;
use proxy_model::Principal;
use proxy_wire::http::HttpReply;
use proxy_wire::outbound::Outlet;
use proxy_wire::{MessageError, Revision, RpcError, encode};

pub(super) async fn post_batch(
    front: Arc<HttpFront>,
    items: Result<Vec<Raw>, MessageError>,
    headers: &HeaderMap,
    principal: &Principal,
    outlet: &Outlet,
) -> HttpReply {
    let refuse = |error: &RpcError| HttpReply::json(StatusCode::BAD_REQUEST, encode::error(None, error));
    let items = match items {
        Ok(items) => items,
        Err(invalid) => return refuse(&invalid.error),
    };
    let session = match session(&front, headers, principal).await {
        Ok(session) if session.client().revision == Revision::V2025_03_26 => session,
        // A client whose session has ended must receive that error (404), so that it opens a new session.
        Err(refused) if session_id(headers).is_some() => return refused.reply(None),
        _ => {
            return refuse(&RpcError::invalid_request("batches are only supported in protocol version 2025-03-26"));
        }
    };
    let items = match batch::parse(&items) {
        Ok(items) => items,
        Err(error) => return refuse(&error),
    };
    let client = front.request_headers.added_to(&session.client_of(principal), headers, outlet.peer());
    let requests = items.iter().filter_map(|item| match item {
        batch::BatchItem::Request(request) => Some(request),
        _ => None,
    });
    if let Some(refusal) = scope_refusal(&front, &client, requests, None, headers) {
        return refusal;
    }
    let responses = batch::start(items, &front.server, &client, &session.in_flight, &MessageSink::Discard);
    match batch::join(responses).await {
        Some(text) => HttpReply::json(StatusCode::OK, text),
        None => HttpReply::empty(StatusCode::ACCEPTED),
    }
}
