//! The listener: takes requests off the socket, checks who may speak at all, and hands them to a service.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::body::Body as AxumBody;
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use futures::stream;
use http::header::{self, HeaderName, HeaderValue};
use http::{HeaderMap, Method, StatusCode};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::beat::Beat;
use super::body::{self, BodyError};
use super::{Guard, accept};
use crate::wire::{RpcError, encode, sse};

/// How long a stream may be silent before a comment is sent on it.
const KEEP_ALIVE: Duration = Duration::from_secs(5);

/// How long a client may take to say what it wants, also between two requests.
const HEAD_TIME: Duration = Duration::from_secs(90);

/// How long a body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct HttpRequest {
    pub method: Method,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// Text frames of an event stream; dropping the sender ends the stream.
pub type Frames = mpsc::Receiver<String>;

#[derive(Debug)]
pub enum Body {
    Empty,
    Json(String),
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
        HttpReply { status, headers: Vec::new(), body: Body::Json(text) }
    }

    /// An error that answers no particular request.
    pub fn refusal(status: StatusCode, error: &RpcError) -> Self {
        Self::json(status, encode::error(None, error))
    }

    pub fn events(frames: Frames) -> Self {
        HttpReply { status: StatusCode::OK, headers: Vec::new(), body: Body::Events(frames) }
    }

    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }
}

/// What answers the requests. Dropping the returned future means that the peer went away.
pub trait HttpService: Send + Sync + 'static {
    /// Looks at a request before its body is read; a reply refuses it. Strangers must not cost memory.
    fn refuse(&self, headers: &HeaderMap) -> Option<HttpReply>;

    fn handle(self: Arc<Self>, request: HttpRequest) -> Pin<Box<dyn Future<Output = HttpReply> + Send>>;
}

/// A bound socket.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    path: String,
    guard: Guard,
    max_body: usize,
}

struct Front<S> {
    service: Arc<S>,
    path: String,
    guard: Guard,
    max_body: usize,
    beat: Beat,
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

    /// Serves until `stop`, then lets running replies finish.
    pub async fn serve<S: HttpService>(self, service: Arc<S>, stop: CancellationToken) {
        let (path, guard, max_body, beat) = (self.path, self.guard, self.max_body, Beat::default());
        let front = Arc::new(Front { service, path, guard, max_body, beat });
        let beating = Arc::clone(&front);
        // One path, told apart in `reply`: a router would only add to every request.
        let reply = move |request: Request| {
            let front = Arc::clone(&front);
            async move { handle(&front, request).await }
        };
        tokio::select! {
            () = accept::serve(self.socket, HEAD_TIME, stop, reply) => {}
            () = beating.beat.run() => {}
        }
    }
}

async fn handle<S: HttpService>(front: &Front<S>, request: Request) -> Response {
    front.beat.note();
    let (parts, body) = request.into_parts();
    let origin = front.guard.allowed_origin(&parts.headers).cloned();
    let reply = front.reply(parts, body).await;
    into_response(reply, origin)
}

impl<S: HttpService> Front<S> {
    async fn reply(&self, parts: http::request::Parts, body: AxumBody) -> HttpReply {
        if let Err(error) = self.guard.check(&parts.uri, &parts.headers) {
            return HttpReply::refusal(StatusCode::FORBIDDEN, &RpcError::invalid_request(&error.to_string()));
        }
        if parts.uri.path().trim_end_matches('/') != self.path.trim_end_matches('/') {
            return HttpReply::empty(StatusCode::NOT_FOUND);
        }
        if parts.method == Method::OPTIONS {
            return preflight(&parts.headers);
        }
        if let Some(refusal) = self.service.refuse(&parts.headers) {
            return refusal;
        }
        let mut reading = pin!(body::read(body, self.max_body));
        let body = match futures::poll!(&mut reading) {
            // Most come with their head.
            Poll::Ready(body) => body,
            Poll::Pending => tokio::time::timeout(BODY_TIME, reading).await.unwrap_or(Err(BodyError::Broken)),
        };
        match body {
            Ok(body) => {
                let request = HttpRequest { method: parts.method, headers: parts.headers, body };
                Arc::clone(&self.service).handle(request).await
            }
            Err(BodyError::TooLarge) => HttpReply::refusal(
                StatusCode::PAYLOAD_TOO_LARGE,
                &RpcError::invalid_request(&format!("the body is larger than {} bytes", self.max_body)),
            ),
            Err(BodyError::Broken) => HttpReply::empty(StatusCode::BAD_REQUEST),
        }
    }
}

/// Which headers a browser may send is answered by what it asks for: none of them carries authority by itself.
fn preflight(headers: &HeaderMap) -> HttpReply {
    let mut reply = HttpReply::empty(StatusCode::NO_CONTENT)
        .with_header(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST, GET, DELETE, OPTIONS"));
    if let Some(asked) = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        reply = reply.with_header(header::ACCESS_CONTROL_ALLOW_HEADERS, asked.clone());
    }
    reply.with_header(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"))
}

fn into_response(reply: HttpReply, origin: Option<HeaderValue>) -> Response {
    let mut response = match reply.body {
        Body::Empty => Response::new(AxumBody::empty()),
        Body::Json(text) => with_type(Response::new(AxumBody::from(text)), "application/json"),
        Body::Events(frames) => {
            let mut response =
                with_type(Response::new(AxumBody::from_stream(frame_stream(frames))), "text/event-stream");
            let headers = response.headers_mut();
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
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

fn with_type(mut response: Response, content_type: &'static str) -> Response {
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// The frames as a body, with a comment whenever nothing was said for a while.
fn frame_stream(frames: Frames) -> impl stream::Stream<Item = Result<Bytes, std::convert::Infallible>> {
    stream::unfold(frames, |mut frames| async move {
        match tokio::time::timeout(KEEP_ALIVE, frames.recv()).await {
            Ok(Some(frame)) => Some((Ok(Bytes::from(frame)), frames)),
            Ok(None) => None,
            Err(_) => Some((Ok(Bytes::from_static(sse::KEEP_ALIVE.as_bytes())), frames)),
        }
    })
}
