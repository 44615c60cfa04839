//! Passes requests of the page on to the control socket, and the answers back.

use http::{Method, StatusCode};
use serde_json::json;
use tokio::sync::mpsc;

use super::request_check::API;
use proxy_wire::http::{EventStream, HttpAnswer, HttpReply, WebRequest};
use proxy_wire::outbound::OutboundMessage;
use proxy_wire::sse;

/// How many events wait for a page that reads slowly. The proxy then waits with further ones, and drops calls.
const MAX_WAITING_EVENTS: usize = 16;

/// Where a request goes on the control socket. `Err` if the page has nothing to ask there, such as `exec`.
pub(super) fn target(request: &WebRequest) -> Result<String, StatusCode> {
    let path = request.uri.path();
    let below = path.strip_prefix(API).ok_or(StatusCode::NOT_FOUND)?;
    let segments: Vec<&str> = below.split('/').collect();
    let method = match segments.as_slice() {
        ["status" | "surface" | "logs" | "find" | "operations" | "script" | "events" | "calls"] => Method::GET,
        ["calls", _] | ["calls", _, "test"] => Method::GET,
        ["call"] | ["questions", _] | ["servers", _, "restart"] => Method::POST,
        _ => return Err(StatusCode::NOT_FOUND),
    };
    if request.method != method {
        return Err(StatusCode::METHOD_NOT_ALLOWED);
    }
    let query = request.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    Ok(format!("/{below}{query}"))
}

/// The answer of the proxy as it is; a stream of events goes on until one side ends it.
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
        "hint": "the console shows it again when `proxy serve` runs with the same config",
    });
    HttpReply::json(StatusCode::BAD_GATEWAY, body.to_string())
}
