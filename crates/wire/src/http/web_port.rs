//! A port for a browser: a page, and the API of that page.

use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::header::{HeaderName, HeaderValue};
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use hyper::body::Incoming;
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::accept::{self, ConnectionLimits};
use super::body::{self, BodyError};
use super::listener::{BODY_TIMEOUT, HttpReply, into_response};
use super::reply_body::ReplyBody;
use crate::outbound::{OutboundBudget, OutboundConnection};
use proxy_fiber::ServingThreads;

/// The maximum number of connections: a browser opens a few for each page.
const MAX_CONNECTIONS: usize = 64;

#[derive(Debug)]
pub struct WebRequest {
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// Answers the requests of a browser. The future of a reply is dropped when the browser closes its connection.
pub trait WebService: Send + Sync + 'static {
    /// The headers of every response, also of refusals. They replace others of the same name.
    fn headers(&self) -> &[(HeaderName, HeaderValue)];

    /// Checks a request before its body is read. A reply refuses it.
    fn refuse(&self, head: &Parts) -> Option<HttpReply>;

    fn handle(self: Arc<Self>, request: WebRequest) -> BoxFuture<'static, HttpReply>;
}

/// Serves until the future is dropped, which ends all connections.
pub async fn serve_web<S: WebService>(socket: TcpListener, service: Arc<S>, max_body: usize) {
    let respond = move |request: Request<Incoming>, connection: Arc<OutboundConnection>| {
        let service = Arc::clone(&service);
        async move {
            let reply = reply(request, Arc::clone(&service), max_body).await;
            let mut response: Response<ReplyBody> = into_response(reply, None, connection);
            for (name, value) in service.headers() {
                response.headers_mut().insert(name, value.clone());
            }
            response
        }
    };
    let limits = ConnectionLimits { connections: MAX_CONNECTIONS, ..ConnectionLimits::default() };
    accept::serve(
        socket,
        limits,
        OutboundBudget::default(),
        ServingThreads::default(),
        CancellationToken::new(),
        respond,
    )
    .await;
}

async fn reply<S: WebService>(request: Request<Incoming>, service: Arc<S>, max_body: usize) -> HttpReply {
    let (parts, body) = request.into_parts();
    if let Some(refusal) = service.refuse(&parts) {
        return refusal;
    }
    let problem = |status, text: String| HttpReply::json(status, json!({"error": text}).to_string());
    let body = match tokio::time::timeout(BODY_TIMEOUT, body::read(body, max_body)).await {
        Ok(Ok(body)) => body,
        Ok(Err(BodyError::TooLarge)) => {
            return problem(StatusCode::PAYLOAD_TOO_LARGE, format!("the body is larger than {max_body} bytes"));
        }
        Ok(Err(BodyError::Broken)) | Err(_) => {
            return problem(StatusCode::BAD_REQUEST, "the body did not arrive".to_owned());
        }
    };
    let Parts { method, uri, headers, .. } = parts;
    service.handle(WebRequest { method, uri, headers, body }).await
}
