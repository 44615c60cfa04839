//! Classifies the messages that a server sends.

use super::signals::Signals;
use proxy_json::{Object, Raw};
use proxy_wire::{Id, Message, MessageError, Notification, Request, Response, Sender, encode, key, trace_server};

#[derive(Debug)]
pub(crate) enum Inbound {
    Response(Response),
    /// A `ping`, with the encoded response to it.
    Ping(String),
    /// A request of the server to a client.
    Question(Request),
    /// The server cancelled its own request.
    QuestionCancelled(Id),
    /// Progress under one of the proxy's tokens.
    Progress(u64, Raw),
    Log(Raw),
    /// Any other notification. It may be meant for the client of a running call.
    Notification(Notification),
    /// A notification that needs no further handling: [`Signals`] took it, or it is malformed.
    Handled,
}

pub(crate) fn parse(server: &str, signals: &Signals, text: &[u8]) -> Result<Inbound, MessageError> {
    trace_server(server, Sender::Other, text);
    Ok(match Message::parse(text)? {
        Message::Response(response) => Inbound::Response(response),
        Message::Request(request) if request.method == "ping" => {
            Inbound::Ping(encode::result(&request.id, &proxy_json::raw(&serde_json::json!({}))))
        }
        Message::Request(request) => Inbound::Question(request),
        Message::Notification(notification) => match (notification.method.as_str(), &notification.params) {
            ("notifications/progress", Some(params)) => match progress_token(params) {
                Some(token) => Inbound::Progress(token, params.clone()),
                None => Inbound::Handled,
            },
            ("notifications/message", Some(params)) => Inbound::Log(params.clone()),
            (method, params) if signals.receive(method, params.as_deref()) => Inbound::Handled,
            ("notifications/cancelled", Some(params)) => {
                cancelled_id(params).map_or(Inbound::Handled, Inbound::QuestionCancelled)
            }
            (method, _) => {
                tracing::debug!(server, method, "notification");
                Inbound::Notification(notification)
            }
        },
    })
}

fn progress_token(params: &Raw) -> Option<u64> {
    Object::of(params).ok()?.get(key::PROGRESS_TOKEN)?.get().parse().ok()
}

fn cancelled_id(params: &Raw) -> Option<Id> {
    Id::parse(Object::of(params).ok()?.get("requestId")?.get())
}

/// The id as a number. The proxy numbers all of its requests.
pub(crate) fn numeric_id(id: Option<&Id>) -> Option<u64> {
    id.and_then(Id::as_number)
}
