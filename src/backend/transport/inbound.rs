//! What a backend sent, sorted: an answer, something to reply to, progress, or news about its lists.

use super::signals::Signals;
use crate::json::{Object, Raw};
use crate::wire::{Fault, Id, Message, Notification, Request, Response, encode, key};

#[derive(Debug)]
pub(crate) enum Inbound {
    Answer(Response),
    /// A request of the server that anybody can answer, with its answer.
    Reply(String),
    /// A request of the server to the client of a running call.
    Question(Request),
    /// The server takes a request of its own back.
    TakenBack(Id),
    /// Progress under one of our tokens.
    Progress(u64, Raw),
    Log(Raw),
    /// Something else it says, which may concern the client of a running call.
    Other(Notification),
    Nothing,
}

pub(crate) fn sort(server: &str, signals: &Signals, text: &[u8]) -> Result<Inbound, Fault> {
    Ok(match Message::parse(text)? {
        Message::Response(response) => Inbound::Answer(response),
        Message::Request(request) if request.method == "ping" => {
            Inbound::Reply(encode::result(&request.id, &crate::json::raw(&serde_json::json!({}))))
        }
        Message::Request(request) => Inbound::Question(request),
        Message::Notification(notification) => match (notification.method.as_str(), &notification.params) {
            ("notifications/progress", Some(params)) => match token(params) {
                Some(token) => Inbound::Progress(token, params.clone()),
                None => Inbound::Nothing,
            },
            ("notifications/message", Some(params)) => Inbound::Log(params.clone()),
            (method, params) if signals.take(method, params.as_deref()) => Inbound::Nothing,
            ("notifications/cancelled", Some(params)) => {
                taken_back(params).map_or(Inbound::Nothing, Inbound::TakenBack)
            }
            (method, _) => {
                tracing::debug!(server, method, "notification");
                Inbound::Other(notification)
            }
        },
    })
}

fn token(params: &Raw) -> Option<u64> {
    Object::of(params).ok()?.get(key::PROGRESS_TOKEN)?.get().parse().ok()
}

fn taken_back(params: &Raw) -> Option<Id> {
    Id::parse(Object::of(params).ok()?.get("requestId")?.get())
}

/// The number of one of our ids.
pub(crate) fn number(id: Option<&Id>) -> Option<u64> {
    id.and_then(Id::as_number)
}
