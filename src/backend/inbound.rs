//! What a backend sent, sorted: an answer, something to reply to, progress, or news about its lists.

use super::signals::Signals;
use crate::json::{Object, Raw};
use crate::wire::{Fault, Id, Message, Response, RpcError, encode, key};

#[derive(Debug)]
pub(super) enum Inbound {
    Answer(Response),
    /// A request of the server, with what it gets for an answer.
    Reply(String),
    /// Progress under one of our tokens.
    Progress(u64, Raw),
    Nothing,
}

pub(super) fn sort(server: &str, signals: &Signals, text: &[u8]) -> Result<Inbound, Fault> {
    Ok(match Message::parse(text)? {
        Message::Response(response) => Inbound::Answer(response),
        Message::Request(request) if request.method == "ping" => {
            Inbound::Reply(encode::result(&request.id, &crate::json::raw(&serde_json::json!({}))))
        }
        // No client capability was declared, so there is nothing a server may ask.
        Message::Request(request) => {
            Inbound::Reply(encode::error(Some(&request.id), &RpcError::method_not_found(&request.method)))
        }
        Message::Notification(notification) => match (notification.method.as_str(), notification.params) {
            ("notifications/progress", Some(params)) => match token(&params) {
                Some(token) => Inbound::Progress(token, params),
                None => Inbound::Nothing,
            },
            (method, params) => {
                if !signals.take(method, params.as_deref()) {
                    tracing::debug!(server, method, "notification");
                }
                Inbound::Nothing
            }
        },
    })
}

fn token(params: &Raw) -> Option<u64> {
    Object::parse(params.get()).ok()?.get(key::PROGRESS_TOKEN)?.get().parse().ok()
}

/// The number of one of our ids.
pub(super) fn number(id: Option<&Id>) -> Option<u64> {
    id.and_then(Id::as_number)
}
