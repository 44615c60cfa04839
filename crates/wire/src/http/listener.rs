//! The listener: reads requests, checks `Host` and `Origin`, and hands them to a service.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::header::{self, HeaderName, HeaderValue};
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::accept;
use super::body::{self, BodyError};
use super::guard::{Guard, GuardError};
use super::reply_body::ReplyBody;
use super::unknown_hosts::UnknownHosts;
use crate::outbound::{NoRoom, OutboundBudget, OutboundConnection, OutboundMessage, Outlet};
use crate::{RpcError, encode, oversized};
use proxy_base::foreign_text::quoted;
use proxy_fiber::ServingThreads;

/// How long the body of a request may take to arrive.
pub(super) const BODY_TIMEOUT: Duration = Duration::from_secs(60);

/// The maximum size of a form of a page.
const MAX_FORM: usize = 16 << 10;

#[derive(Debug)]
pub struct HttpRequest {
    pub method: Method,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// The connection that takes the reply.
    pub connection: Arc<OutboundConnection>,
}

/// Text frames of an event stream; dropping the sender ends the stream.
pub type Frames = mpsc::Receiver<OutboundMessage>;

#[derive(Debug)]
pub enum Body {
    Empty,
    Json(OutboundMessage),
    /// A sentence for a person with a browser.
    Text(&'static str),
    /// A file of a page.
    File {
        content_type: &'static str,
        bytes: &'static [u8],
    },
    /// A page for a person with a browser.
    Page(String),
    Events(Frames),
}

#[derive(Debug)]
pub struct HttpReply {
    pub status: StatusCode,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub body: Body,
}

impl HttpReply {
    pub fn empty(status: StatusCode) -> Self {
        HttpReply { status, headers: Vec::new(), body: Body::Empty }
    }

    pub fn json(status: StatusCode, text: String) -> Self {
        HttpReply { status, headers: Vec::new(), body: Body::Json(OutboundMessage::uncounted(text)) }
    }

    /// A JSON-RPC error without an id, for a request that was not read.
    pub fn refusal(status: StatusCode, error: &RpcError) -> Self {
        Self::json(status, encode::error(None, error))
    }

    pub fn page(status: StatusCode, html: String) -> Self {
        HttpReply { status, headers: Vec::new(), body: Body::Page(html) }
    }

    pub fn events(frames: Frames) -> Self {
        HttpReply { status: StatusCode::OK, headers: Vec::new(), body: Body::Events(frames) }
    }

    /// The reply once there is room for it. If there is none, an error takes its place.
    pub async fn within(mut self, outlet: &Outlet) -> Self {
        let Body::Json(message) = self.body else { return self };
        let text = message.into_bytes();
        self.body = match outlet.reserve(text.len()).await {
            Ok(reservation) => Body::Json(OutboundMessage::new(text, reservation)),
            Err(NoRoom) => {
                let reason = format!(
                    "the response of {} bytes was dropped: too much is already waiting for this client; read what was sent",
                    text.len()
                );
                let id = oversized::message_id(&text, &text);
                let error = encode::error(id.as_ref(), &RpcError::internal(&reason));
                Body::Json(OutboundMessage::uncounted(error))
            }
        };
        self
    }

    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }
}

/// Answers HTTP requests. The future of a reply is dropped when the client closes its connection.
pub trait HttpService: Send + Sync + 'static {
    /// Who sends a request.
    type Caller: Send;

    /// Checks a request before its body is read, so that an unauthorized one costs no memory. `place` is what the path has
    /// below that of the endpoint: one name, or nothing. `peer` is the other end of the connection, if it is still known.
    fn admit(self: Arc<Self>, place: &str, headers: &HeaderMap, peer: Option<IpAddr>) -> Admission<Self::Caller>;

    fn handle(self: Arc<Self>, request: HttpRequest, caller: Self::Caller) -> impl Future<Output = HttpReply> + Send;

    /// A document at another path, which everybody may read, from any page. `None` if there is none.
    fn document(&self, method: &Method, path: &str, headers: &HeaderMap) -> Option<HttpReply>;

    /// Whether there is a page at another path, for people with a browser.
    fn has_page(&self, path: &str) -> bool;

    /// Answers a request for a page, which checks its `Origin` itself.
    fn page(self: Arc<Self>, request: PageRequest) -> impl Future<Output = HttpReply> + Send;
}

/// A request for a page.
#[derive(Debug)]
pub struct PageRequest {
    pub method: Method,
    pub path: String,
    /// Without the question mark; empty if there is none.
    pub query: String,
    pub headers: HeaderMap,
    /// A form.
    pub body: Bytes,
    /// The other end of the connection, if it is still known.
    pub peer: Option<IpAddr>,
}

/// Whether a request is admitted.
pub enum Admission<T> {
    Admitted(T),
    /// It takes a while to find out, or to refuse it.
    Later(BoxFuture<'static, Result<T, HttpReply>>),
}

/// A bound socket.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    path: String,
    guard: Guard,
    max_body: usize,
}

/// What the connections of a listener share.
struct Endpoint<S> {
    service: Arc<S>,
    path: String,
    guard: Guard,
    unknown_hosts: UnknownHosts,
    max_body: usize,
}

impl Listener {
    pub async fn bind(address: &str, path: &str, allowed_origins: &[String], max_body: usize) -> io::Result<Self> {
        let socket = TcpListener::bind(address).await?;
        let guard = Guard::new(socket.local_addr()?, allowed_origins);
        Ok(Listener { socket, path: path.to_owned(), guard, max_body })
    }

    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Serves on these threads until `stop`, then lets running replies finish.
    pub async fn serve<S: HttpService>(self, service: Arc<S>, threads: ServingThreads, stop: CancellationToken) {
        let unknown_hosts = UnknownHosts::default();
        let Listener { socket, path, guard, max_body } = self;
        let endpoint = Arc::new(Endpoint { service, path, guard, unknown_hosts, max_body });
        // There is one path, which `reply` compares: a router would only add to every request.
        let respond = move |request, connection| Arc::clone(&endpoint).respond(request, connection);
        let limits = accept::ConnectionLimits::default();
        accept::serve(socket, limits, OutboundBudget::default(), threads, stop, respond).await;
    }
}

impl<S: HttpService> Endpoint<S> {
    async fn respond(
        self: Arc<Self>,
        request: Request<Incoming>,
        connection: Arc<OutboundConnection>,
    ) -> Response<ReplyBody> {
        let (parts, body) = request.into_parts();
        // No other page reads what people see.
        let is_page = || !self.is_endpoint(&parts) && self.service.has_page(parts.uri.path());
        let allowed = self.guard.allowed_origin(&parts.headers);
        let origin = if allowed.is_some() && is_page() { None } else { allowed.cloned() };
        let reply = self.reply(parts, body, &connection).await;
        into_response(reply, origin, connection)
    }

    /// Says which host was refused, and which are accepted: whoever set up the web server in front has to know.
    fn refuse_host(&self, parts: &Parts) -> HttpReply {
        let header = parts.headers.get(header::HOST).map(|host| String::from_utf8_lossy(host.as_bytes()));
        let host = header.unwrap_or_else(|| parts.uri.authority().map_or("", Authority::as_str).into());
        let accepted = self.guard.accepted_hosts();
        self.unknown_hosts.tell(&host, &accepted);
        let text =
            format!("{}: {}; accepted are {accepted}, with or without the port", GuardError::Host, quoted(&host));
        HttpReply::refusal(GuardError::Host.status(), &RpcError::invalid_request(&text))
    }

    async fn reply(&self, mut parts: Parts, body: Incoming, connection: &Arc<OutboundConnection>) -> HttpReply {
        let refuse =
            |error: &GuardError| HttpReply::refusal(error.status(), &RpcError::invalid_request(&error.to_string()));
        if let Err(error) = self.guard.check_host(&parts.uri, &parts.headers) {
            return if error == GuardError::Host { self.refuse_host(&parts) } else { refuse(&error) };
        }
        if let (None, Some(authority)) = (parts.headers.get(header::HOST), parts.uri.authority())
            && let Ok(host) = HeaderValue::from_str(authority.as_str())
        {
            // HTTP/2: from here on there is one place for it.
            parts.headers.insert(header::HOST, host);
        }
        let is_endpoint = self.is_endpoint(&parts);
        if !is_endpoint && let Some(document) = self.service.document(&parts.method, parts.uri.path(), &parts.headers) {
            return document;
        }
        if !is_endpoint && self.service.has_page(parts.uri.path()) {
            return self.page(parts, body, connection).await;
        }
        if let Err(error) = self.guard.check_origin(&parts.headers) {
            return refuse(&error);
        }
        let Some(place) = self.place(parts.uri.path()) else {
            let is_root = parts.uri.path() == "/" && parts.method == Method::GET;
            let body = if is_root && is_browser(&parts.headers) { Body::Text(ELSEWHERE) } else { Body::Empty };
            return HttpReply { body, ..HttpReply::empty(StatusCode::NOT_FOUND) };
        };
        if parts.method == Method::OPTIONS {
            return preflight(&parts.headers);
        }
        let caller = match Arc::clone(&self.service).admit(place, &parts.headers, connection.peer()) {
            Admission::Admitted(caller) => caller,
            Admission::Later(admission) => match admission.await {
                Ok(caller) => caller,
                Err(refusal) => return refusal,
            },
        };
        let mut reading = pin!(body::read(body, self.max_body));
        let body = match futures::poll!(&mut reading) {
            // Most bodies arrive with their head and need no timer.
            Poll::Ready(body) => body,
            Poll::Pending => tokio::time::timeout(BODY_TIMEOUT, reading).await.unwrap_or(Err(BodyError::Broken)),
        };
        match body {
            Ok(body) => {
                let Parts { method, headers, .. } = parts;
                let request = HttpRequest { method, headers, body, connection: Arc::clone(connection) };
                Arc::clone(&self.service).handle(request, caller).await
            }
            Err(BodyError::TooLarge) => HttpReply::refusal(
                StatusCode::PAYLOAD_TOO_LARGE,
                &RpcError::invalid_request(&format!("the request body is larger than {} bytes", self.max_body)),
            ),
            Err(BodyError::Broken) => HttpReply::empty(StatusCode::BAD_REQUEST),
        }
    }
}

impl<S: HttpService> Endpoint<S> {
    fn is_endpoint(&self, parts: &Parts) -> bool {
        parts.uri.path().trim_end_matches('/') == self.path.trim_end_matches('/')
    }

    /// What a path has below that of the endpoint: one name, with or without a slash at its end, or nothing. `None` if it is
    /// another path.
    fn place<'a>(&self, path: &'a str) -> Option<&'a str> {
        let rest = path.strip_prefix(self.path.trim_end_matches('/'))?;
        if rest.trim_end_matches('/').is_empty() {
            return Some("");
        }
        let name = rest.strip_prefix('/')?;
        let name = name.strip_suffix('/').unwrap_or(name);
        (!name.is_empty() && !name.contains('/')).then_some(name)
    }

    async fn page(&self, parts: Parts, body: Incoming, connection: &Arc<OutboundConnection>) -> HttpReply {
        let reading = tokio::time::timeout(BODY_TIMEOUT, body::read(body, MAX_FORM));
        let body = match reading.await.unwrap_or(Err(BodyError::Broken)) {
            Ok(body) => body,
            Err(BodyError::TooLarge) => return HttpReply::empty(StatusCode::PAYLOAD_TOO_LARGE),
            Err(BodyError::Broken) => return HttpReply::empty(StatusCode::BAD_REQUEST),
        };
        let path = parts.uri.path().to_owned();
        let query = parts.uri.query().unwrap_or_default().to_owned();
        let Parts { method, headers, .. } = parts;
        let request = PageRequest { method, path, query, headers, body, peer: connection.peer() };
        Arc::clone(&self.service).page(request).await
    }
}

/// Shown in a browser that opens the wrong page.
const ELSEWHERE: &str = "This is an MCP proxy. `proxy serve` printed the address for MCP clients when it started. There \
                         is nothing to see in a browser.\n";

/// Whether a browser sent this request: MCP clients do not ask for HTML.
pub fn is_browser(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted
        .flat_map(|value| value.split(','))
        .any(|range| range.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("text/html"))
}

/// Answers a CORS preflight. Every header that the browser asks for is allowed: none of them grants access by itself.
fn preflight(headers: &HeaderMap) -> HttpReply {
    let mut reply = HttpReply::empty(StatusCode::NO_CONTENT)
        .with_header(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST, GET, DELETE, OPTIONS"));
    if let Some(requested) = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        reply = reply.with_header(header::ACCESS_CONTROL_ALLOW_HEADERS, requested.clone());
    }
    reply.with_header(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"))
}

pub(super) fn into_response(
    reply: HttpReply,
    origin: Option<HeaderValue>,
    connection: Arc<OutboundConnection>,
) -> Response<ReplyBody> {
    let mut response = match reply.body {
        Body::Empty => Response::new(ReplyBody::text(Bytes::new(), connection)),
        Body::Text(text) => {
            with_type(ReplyBody::text(Bytes::from_static(text.as_bytes()), connection), "text/plain; charset=utf-8")
        }
        Body::File { content_type, bytes } => {
            with_type(ReplyBody::text(Bytes::from_static(bytes), connection), content_type)
        }
        Body::Page(html) => with_type(ReplyBody::text(Bytes::from(html), connection), "text/html; charset=utf-8"),
        Body::Json(text) => with_type(ReplyBody::text(text.into_bytes(), connection), "application/json"),
        Body::Events(frames) => {
            let mut response = with_type(ReplyBody::events(frames, connection), "text/event-stream");
            let headers = response.headers_mut();
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            // Keeps nginx from buffering the stream.
            headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
            response
        }
    };
    *response.status_mut() = reply.status;
    for (name, value) in reply.headers {
        response.headers_mut().append(name, value);
    }
    if let Some(origin) = origin {
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::VARY, HeaderValue::from_static("Origin"));
        headers.insert(
            header::ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("Mcp-Session-Id, WWW-Authenticate"),
        );
    }
    response
}

fn with_type(body: ReplyBody, content_type: &'static str) -> Response<ReplyBody> {
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
