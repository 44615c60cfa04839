//! Streamable HTTP in both eras: POST for messages, GET for the standalone stream, DELETE for the end of a session.

use std::io;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Response};
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::message::{Envelope, Refusal};
use crate::outbox::{Outbox, Outgoing};
use crate::request::Request;
use crate::shared::{Listener, Shared};
use crate::{discovery, dispatch, old_sse, pretty, sse};

pub async fn serve(shared: Arc<Shared>, address: &str) -> io::Result<()> {
    let listener = TcpListener::bind(address).await?;
    let bound = listener.local_addr()?;
    // Without this a reply in two writes waits for the peer's delayed acknowledgement.
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    eprintln!("listening on http://{bound}/mcp");
    let router = Router::new().fallback(handle).with_state(shared);
    axum::serve(listener, router).await
}

/// Notices when a client goes away before its request was answered.
pub struct Watch {
    shared: Arc<Shared>,
    id: String,
    cancelled: CancellationToken,
    pub answered: bool,
}

impl Watch {
    /// Of a stream that has no answer to wait for.
    pub fn new(shared: &Arc<Shared>, id: String, cancelled: CancellationToken) -> Self {
        Self { shared: shared.clone(), id, cancelled, answered: false }
    }

    /// The reply is complete, whatever becomes of the connection.
    pub fn finish(&mut self) {
        self.answered = true;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if !self.answered {
            self.shared.record(|record| record.http.push(format!("closed {}", self.id)));
            self.cancelled.cancel();
        }
    }
}

async fn handle(State(shared): State<Arc<Shared>>, parts: Parts, body: Bytes) -> Response<Body> {
    let options = &shared.options;
    if options.html {
        return reply(200, "text/html", "<!doctype html><title>Welcome</title><p>It works!".to_owned());
    }
    if let Some(target) = &options.redirect {
        let mut response = empty(307);
        response.headers_mut().insert("location", header_value(target));
        return response;
    }
    if let Some(token) = &options.require_bearer {
        let given = parts.headers.get("authorization").and_then(|value| value.to_str().ok());
        if given != Some(&format!("Bearer {token}")) {
            let mut response = empty(401);
            response.headers_mut().insert("www-authenticate", header_value("Bearer realm=\"fake\""));
            return response;
        }
    }
    if let Some(kind) = options.old_sse {
        return old_sse::handle(&shared, kind, &parts, &body);
    }
    match parts.method {
        Method::POST => post(shared, &parts.headers, &body).await,
        Method::GET => get(&shared, &parts.headers),
        Method::DELETE => delete(&shared, &parts.headers),
        _ => empty(405),
    }
}

async fn post(shared: Arc<Shared>, headers: &HeaderMap, body: &Bytes) -> Response<Body> {
    let text = String::from_utf8_lossy(body).into_owned();
    shared.record(|record| record.messages.push(text.clone()));
    let accept = header(headers, "accept").unwrap_or_default();
    if !accept.contains("application/json") || !accept.contains("text/event-stream") {
        return empty(406);
    }
    if !header(headers, "content-type").unwrap_or_default().starts_with("application/json") {
        return empty(415);
    }
    let Ok(envelope) = Envelope::parse(&text) else {
        return json(400, &Refusal::new(400, -32700, "not a JSON-RPC message").response(None), false);
    };
    if shared.options.never_answer {
        std::future::pending::<()>().await;
    }
    let (outbox, outgoing) = Outbox::new();
    if envelope.id.is_none() || envelope.method.is_none() {
        dispatch::without_answer(&shared, &envelope, &text);
        return empty(202);
    }
    let Some(mut request) = Request::new(envelope, outbox) else { return empty(400) };
    request.http = true;
    request.headers = headers
        .iter()
        .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).trim().to_owned()))
        .collect();
    answer(shared, request, outgoing).await
}

type Receiver = tokio::sync::mpsc::UnboundedReceiver<Outgoing>;

async fn answer(shared: Arc<Shared>, mut request: Request, outgoing: Receiver) -> Response<Body> {
    let options = &shared.options;
    let told = match request.method.as_str() {
        "server/discover" => options.discover_status.or(options.status),
        "initialize" => options.status,
        _ => None,
    };
    if let Some(status) = told {
        return empty(status);
    }
    let refuse = |request: &Request, refusal: Refusal| {
        json(refusal.status, &refusal.response(Some(&request.id)), shared.options.pretty)
    };
    match dispatch::era(&request, shared.eras_for_next_request()) {
        Ok(modern) => request.modern = modern,
        Err(refusal) => return refuse(&request, refusal),
    }
    let mut session = None;
    if !request.modern && options.session {
        if request.method == "initialize" {
            let id = format!("session-{}-{}", std::process::id(), shared.next_number());
            let version = discovery::negotiated(options, &request);
            shared.lock().sessions.open(id.clone(), version);
            request.session = Some(id.clone());
            session = Some(id);
        } else {
            let (id, version) = (request.header("mcp-session-id"), request.header("mcp-protocol-version"));
            let admitted = shared.lock().sessions.admit(id, version, options);
            if let Err(refusal) = admitted {
                return refuse(&request, refusal);
            }
            request.session = request.header("mcp-session-id").map(str::to_owned);
        }
    }
    let (modern, calling) = (request.modern, request.method == "tools/call");
    let watch = Watch {
        shared: shared.clone(),
        id: request.id.clone(),
        // A legacy client that goes away has not cancelled anything.
        cancelled: if modern { request.cancelled.clone() } else { CancellationToken::new() },
        answered: false,
    };
    tokio::spawn(dispatch::serve(shared.clone(), request));
    let mut response = if calling && !modern && options.drop_stream {
        event_stream(Body::from(": gone before the answer\n\n"))
    } else if calling && !modern && options.priming_retry.is_some() {
        park(&shared, outgoing, watch)
    } else {
        stream_or_json(&shared, outgoing, watch, modern).await
    };
    if let Some(id) = session {
        response.headers_mut().insert("mcp-session-id", header_value(&id));
    }
    response
}

/// Waits for the first message: a modern status depends on it, and a lone response may go as plain JSON.
async fn stream_or_json(shared: &Shared, mut outgoing: Receiver, mut watch: Watch, modern: bool) -> Response<Body> {
    let options = &shared.options;
    let mut first = outgoing.recv().await;
    while options.json && first.as_ref().is_some_and(|next| !next.response) {
        first = outgoing.recv().await;
    }
    let Some(first) = first else {
        watch.finish();
        return event_stream(Body::empty());
    };
    if options.json || ((modern || options.error_status) && first.status != 200) {
        watch.finish();
        let status = if modern || options.error_status { first.status } else { 200 };
        return json(status, &first.text, options.pretty);
    }
    watch.answered = first.response;
    event_stream(sse::body(Some(first), outgoing, options, watch))
}

/// Ends the stream after an event that lets the client come back for the answer.
fn park(shared: &Shared, outgoing: Receiver, mut watch: Watch) -> Response<Body> {
    watch.finish();
    let id = format!("parked-{}", shared.next_number());
    let retry = shared.options.priming_retry.unwrap_or_default();
    shared.lock().parked.insert(id.clone(), outgoing);
    event_stream(Body::from(format!("id: {id}\nretry: {retry}\ndata: \n\n")))
}

fn get(shared: &Arc<Shared>, headers: &HeaderMap) -> Response<Body> {
    let resumed = header(headers, "last-event-id");
    let session = header(headers, "mcp-session-id");
    shared.record(|record| {
        record.http.push(format!(
            "GET session={} last={}",
            session.as_deref().unwrap_or("-"),
            resumed.as_deref().unwrap_or("-")
        ));
    });
    if !shared.options.get || !shared.options.eras.legacy {
        return empty(405);
    }
    if shared.options.session {
        let version = header(headers, "mcp-protocol-version");
        let admitted = shared.lock().sessions.admit(session.as_deref(), version.as_deref(), &shared.options);
        if let Err(refusal) = admitted {
            return empty(refusal.status);
        }
    }
    let watch =
        Watch { shared: shared.clone(), id: "GET".to_owned(), cancelled: CancellationToken::new(), answered: true };
    let outgoing = match resumed {
        Some(id) => match shared.lock().parked.remove(&id) {
            Some(outgoing) => outgoing,
            None => return empty(404),
        },
        None => {
            let (outbox, outgoing) = Outbox::new();
            let mut inner = shared.lock();
            // One stream per session: a message must not arrive twice.
            inner.listeners.retain(|listener| listener.subscription.is_some() || listener.session != session);
            inner.listeners.push(Listener { outbox, subscription: None, session, resources: Vec::new() });
            outgoing
        }
    };
    event_stream(sse::body(None, outgoing, &shared.options, watch))
}

fn delete(shared: &Shared, headers: &HeaderMap) -> Response<Body> {
    let session = header(headers, "mcp-session-id").unwrap_or_default();
    shared.record(|record| record.http.push(format!("DELETE session={session}")));
    let mut inner = shared.lock();
    inner.subscribed.retain(|(subscriber, _)| subscriber.as_ref() != Some(&session));
    let ended = inner.sessions.end(&session);
    empty(if ended { 200 } else { 404 })
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

fn header_value(text: &str) -> axum::http::HeaderValue {
    axum::http::HeaderValue::from_str(text).unwrap_or_else(|_| axum::http::HeaderValue::from_static(""))
}

fn json(status: u16, text: &str, spread: bool) -> Response<Body> {
    let text = if spread { pretty::spread(text) } else { text.to_owned() };
    reply(status, "application/json", text)
}

pub fn event_stream(body: Body) -> Response<Body> {
    let mut response = reply(200, "text/event-stream", String::new());
    *response.body_mut() = body;
    response.headers_mut().insert("cache-control", header_value("no-cache"));
    response
}

pub fn empty(status: u16) -> Response<Body> {
    reply(status, "text/plain", String::new())
}

fn reply(status: u16, content_type: &'static str, text: String) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = axum::http::StatusCode::from_u16(status).unwrap_or_default();
    response.headers_mut().insert("content-type", header_value(content_type));
    response
}
