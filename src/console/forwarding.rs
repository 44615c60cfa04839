//! Forwards requests from the page to the control socket, and the answers back.

use http::{Method, StatusCode};
use serde_json::json;
use tokio::sync::mpsc;

use super::request_check::API;
use proxy_wire::http::{EventStream, HttpAnswer, HttpReply, WebRequest};
use proxy_wire::outbound::OutboundMessage;
use proxy_wire::sse;

/// How many events are queued for a slow page. When the queue is full, the proxy holds back events and drops calls.
const MAX_WAITING_EVENTS: usize = 16;

/// The path of a request on the control socket. `Err` for paths that the page may not use, such as `exec`.
pub(super) fn target(request: &WebRequest) -> Result<String, StatusCode> {
    let path = request.uri.path();
    let below = path.strip_prefix(API).ok_or(StatusCode::NOT_FOUND)?;
    let segments: Vec<&str> = below.split('/').collect();
    let method = match segments.as_slice() {
        ["status" | "surface" | "logs" | "find" | "operations" | "script" | "events" | "calls"] => Method::GET,
        ["calls", _] | ["calls", _, "test"] => Method::GET,
        ["call"] | ["elicitations", _] | ["servers", _, "restart"] => Method::POST,
        _ => return Err(StatusCode::NOT_FOUND),
    };
    if request.method != method {
        return Err(StatusCode::METHOD_NOT_ALLOWED);
    }
    let query = request.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    Ok(format!("/{below}{query}"))
}

/// The proxy's answer, unchanged; an event stream continues until one side ends it.
pub(super) async fn forwarded(mut answer: HttpAnswer, pid: u32) -> HttpReply {
    let status = answer.status();
    if answer.is_events() {
        let (frames, stream) = mpsc::channel(MAX_WAITING_EVENTS);
        tokio::spawn(forward_events(answer.events(), frames));
        return HttpReply { status, ..HttpReply::events(stream) };
    }
    match answer.body().await.map(|body| String::from_utf8(body.into())) {
        Ok(Ok(text)) => HttpReply::json(status, text),
        Ok(Err(_)) => unavailable(pid, "its answer is not text"),
        Err(error) => unavailable(pid, &error.to_string()),
    }
}

async fn forward_events(mut events: EventStream, frames: mpsc::Sender<OutboundMessage>) {
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            // Dropping the stream cancels the request on the control socket.
            () = frames.closed() => return,
        };
        let Ok(Some(event)) = event else { return };
        let frame = OutboundMessage::uncounted(sse::event(None, event.data.as_bytes()));
        if frames.send(frame).await.is_err() {
            return;
        }
    }
}

/// The reply if the proxy does not answer.
pub(super) fn unavailable(pid: u32, reason: &str) -> HttpReply {
    let body = json!({
        "error": format!("the proxy (process {pid}) does not answer: {reason}"),
        "hint": "the console reconnects when a `proxy serve` with the same config runs",
    });
    HttpReply::json(StatusCode::BAD_GATEWAY, body.to_string())
}
