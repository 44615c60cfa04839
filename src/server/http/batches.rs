//! Batches, which one revision has.

use std::sync::Arc;

use ::http::{HeaderMap, StatusCode};

use super::{HttpFront, session_id};
use crate::json::Raw;
use crate::model::Principal;
use crate::server::batch::{self, Item};
use crate::server::methods::Asked;
use crate::server::outlet::Outlet;
use crate::wire::http::HttpReply;
use crate::wire::{Fault, Revision, RpcError, encode};

impl HttpFront {
    pub(super) async fn post_batch(
        self: Arc<Self>,
        items: Result<Vec<Raw>, Fault>,
        headers: &HeaderMap,
        principal: &Principal,
    ) -> HttpReply {
        let refuse = |error: &RpcError| HttpReply::json(StatusCode::BAD_REQUEST, encode::error(None, error));
        let items = match items {
            Ok(items) => items,
            Err(fault) => return refuse(&fault.error),
        };
        let session = match self.session(headers, principal) {
            Ok(session) if session.client.revision == Revision::V2025_03_26 => session,
            // A client whose session is gone must learn that, or it would never open another.
            Err(refused) if session_id(headers).is_some() => return refused.reply(None),
            _ => return refuse(&RpcError::invalid_request("batches are only for protocol version 2025-03-26")),
        };
        let items = match batch::sort(&items) {
            Ok(items) => items,
            Err(error) => return refuse(&error),
        };
        let mut answers = Vec::new();
        for item in items {
            match item {
                Item::Answered(text) => answers.push(tokio::spawn(async move { Some(text) })),
                Item::Notification(notification) => {
                    if notification.method == "notifications/cancelled" {
                        session.in_flight.cancel(notification.params.as_deref());
                    }
                }
                Item::Request(request) => {
                    let (server, session) = (self.server.clone(), Arc::clone(&session));
                    answers.push(tokio::spawn(async move {
                        let running = match session.in_flight.begin(&request.id) {
                            Ok(running) => running,
                            Err(error) => return Some(encode::error(Some(&request.id), &error)),
                        };
                        let cancel = running.cancel.clone();
                        let outcome = server
                            .answer_session(Asked {
                                request: &request,
                                client: &session.client,
                                cancel,
                                outlet: &Outlet::Nowhere,
                            })
                            .await?;
                        Some(encode::outcome(&request.id, &outcome))
                    }));
                }
            }
        }
        if answers.is_empty() {
            return HttpReply::empty(StatusCode::ACCEPTED);
        }
        HttpReply::json(StatusCode::OK, batch::gather(answers).await)
    }
}
