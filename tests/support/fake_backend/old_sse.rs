//! The HTTP+SSE transport of 2024-11-05: a GET opens the one stream on which everything comes back, and its first event
//! says where to post.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use axum::http::{Method, Response};
use tokio_util::sync::CancellationToken;

use crate::http::{Watch, empty, event_stream};
use crate::message::Envelope;
use crate::outbox::Outbox;
use crate::request::Request;
use crate::shared::{Listener, Shared};
use crate::{dispatch, sse};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OldSse {
    /// The address is a path.
    Relative,
    /// The address is a whole one.
    Absolute,
    /// The address is another server's.
    Elsewhere,
    /// There is a stream, but it names no address.
    Silent,
    /// Whatever the method, the stream is opened.
    AnyMethod,
}

impl OldSse {
    pub fn parse(text: &str) -> Result<Self, String> {
        Ok(match text {
            "relative" => Self::Relative,
            "absolute" => Self::Absolute,
            "elsewhere" => Self::Elsewhere,
            "silent" => Self::Silent,
            "any-method" => Self::AnyMethod,
            other => return Err(format!("`--old-sse` knows no kind `{other}`")),
        })
    }
}

/// The open streams by their ids, with how many messages each has got.
#[derive(Default)]
pub struct OldStreams {
    open: HashMap<String, (Outbox, usize)>,
}

impl OldStreams {
    pub fn end_all(&mut self) {
        for (outbox, _) in self.open.drain().map(|(_, stream)| stream) {
            outbox.end();
        }
    }

    /// The stream a message belongs to, unless it is forgotten by now.
    fn take(&mut self, id: &str, expire_after: Option<usize>) -> Option<Outbox> {
        let (outbox, count) = self.open.get_mut(id)?;
        *count += 1;
        if expire_after.is_some_and(|limit| *count > limit) {
            // Its stream stays open: whoever listens is not told.
            self.open.remove(id);
            return None;
        }
        Some(outbox.clone())
    }
}

pub fn handle(shared: &Arc<Shared>, kind: OldSse, parts: &Parts, body: &Bytes) -> Response<Body> {
    match (&parts.method, parts.uri.path()) {
        (&Method::POST, "/messages") => post(shared, parts, body),
        (&Method::GET, _) => open(shared, kind, parts),
        (_, _) if kind == OldSse::AnyMethod => open(shared, kind, parts),
        _ => {
            shared.record(|record| record.http.push(format!("{} refused", parts.method)));
            empty(405)
        }
    }
}

fn open(shared: &Arc<Shared>, kind: OldSse, parts: &Parts) -> Response<Body> {
    let id = format!("stream-{}-{}", std::process::id(), shared.next_number());
    shared.record(|record| record.http.push(format!("GET stream={id}")));
    let host = parts.headers.get("host").and_then(|host| host.to_str().ok()).unwrap_or_default();
    let path = format!("/messages?stream={id}");
    let opening = match kind {
        OldSse::Relative | OldSse::AnyMethod => format!("event: endpoint\ndata: {path}\n\n"),
        OldSse::Absolute => format!("event: endpoint\ndata: http://{host}{path}\n\n"),
        OldSse::Elsewhere => format!("event: endpoint\ndata: http://other.example{path}\n\n"),
        OldSse::Silent => ": nothing to tell\n\n".to_owned(),
    };
    let (outbox, outgoing) = Outbox::new();
    let mut inner = shared.lock();
    inner.old_streams.open.insert(id.clone(), (outbox.clone(), 0));
    inner.listeners.push(Listener { outbox, subscription: None, session: Some(id.clone()), resources: Vec::new() });
    let watch = Watch::new(shared, format!("GET {id}"), CancellationToken::new());
    event_stream(sse::body_after(opening, outgoing, &shared.options, watch))
}

fn post(shared: &Arc<Shared>, parts: &Parts, body: &Bytes) -> Response<Body> {
    let text = String::from_utf8_lossy(body).into_owned();
    shared.record(|record| record.messages.push(text.clone()));
    let id = parts.uri.query().and_then(|query| query.strip_prefix("stream=")).unwrap_or_default();
    let Some(outbox) = shared.lock().old_streams.take(id, shared.options.expire_session_after) else {
        return empty(404);
    };
    let Ok(envelope) = Envelope::parse(&text) else { return empty(400) };
    if envelope.id.is_none() || envelope.method.is_none() {
        dispatch::without_answer(shared, &envelope, &text);
    } else if let Some(request) = Request::new(envelope, outbox) {
        tokio::spawn(dispatch::request(shared.clone(), request));
    }
    empty(202)
}
