//! A port that answers GET requests with text, for health probes and metrics scrapers.

use std::sync::Arc;

use http::header::{self, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::Guard;
use super::accept::{self, ConnectionLimits};
use super::reply_body::ReplyBody;
use crate::outbound::{OutboundBudget, OutboundConnection};
use proxy_fiber::ServingThreads;

/// The maximum number of connections: scrapers and probes are few.
const MAX_CONNECTIONS: usize = 64;

/// One page.
#[derive(Debug)]
pub struct TextReply {
    pub status: StatusCode,
    pub content_type: &'static str,
    pub text: String,
}

impl TextReply {
    /// A page of plain text.
    pub fn plain(status: StatusCode, text: &str) -> Self {
        TextReply { status, content_type: "text/plain; charset=utf-8", text: format!("{text}\n") }
    }
}

/// Makes the pages, on a thread for work that blocks: thousands of series take a while, and clients must not wait for that.
pub trait TextService: Send + Sync + 'static {
    /// `None` if there is no such page.
    fn page(&self, path: &str) -> Option<TextReply>;
}

/// Serves until `stop`.
pub async fn serve_text<S: TextService>(socket: TcpListener, service: Arc<S>, stop: CancellationToken) {
    let Ok(bound) = socket.local_addr() else { return };
    // No page of a browser may read this port.
    let guard = Arc::new(Guard::new(bound, &[]));
    let respond = move |request: Request<Incoming>, connection: Arc<OutboundConnection>| {
        let (guard, service) = (Arc::clone(&guard), Arc::clone(&service));
        async move { into_response(reply(&request, &guard, service).await, connection) }
    };
    let limits = ConnectionLimits { connections: MAX_CONNECTIONS, ..ConnectionLimits::default() };
    accept::serve(socket, limits, OutboundBudget::default(), ServingThreads::default(), stop, respond).await;
}

async fn reply<S: TextService>(request: &Request<Incoming>, guard: &Guard, service: Arc<S>) -> TextReply {
    if let Err(error) = guard.check(request.uri(), request.headers()) {
        return TextReply::plain(error.status(), &error.to_string());
    }
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        return TextReply::plain(StatusCode::METHOD_NOT_ALLOWED, "only GET");
    }
    let path = request.uri().path().to_owned();
    match tokio::task::spawn_blocking(move || service.page(&path)).await {
        Ok(Some(page)) => page,
        Ok(None) => TextReply::plain(StatusCode::NOT_FOUND, "not found"),
        Err(_) => TextReply::plain(StatusCode::INTERNAL_SERVER_ERROR, "the page could not be created"),
    }
}

fn into_response(reply: TextReply, connection: Arc<OutboundConnection>) -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::text(reply.text.into(), connection));
    *response.status_mut() = reply.status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(reply.content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
