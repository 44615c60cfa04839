//! Serves HTTP/1.1 on a Unix socket.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::http::body::{self, BodyError};
use crate::http::listener::{BODY_TIMEOUT, HttpReply, into_response};
use crate::http::reply_body::ReplyBody;
use crate::outbound::{OutboundBudget, OutboundConnection};

/// The maximum number of connections at a time. Others wait.
const MAX_CONNECTIONS: usize = 64;
/// How long a client may take to send the head of a request, with the silence before it.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause after `accept` failed, usually because the process has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct SocketRequest {
    pub method: Method,
    pub path: String,
    /// The parameters of the query, decoded.
    pub query: Vec<(String, String)>,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// The user of the process at the other end.
    pub uid: Option<u32>,
    /// The connection that takes the reply.
    pub connection: Arc<OutboundConnection>,
}

impl SocketRequest {
    /// The value of a parameter of the query.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Answers the requests on a socket. The future of a reply is dropped when the client closes its connection.
pub trait SocketService: Send + Sync + 'static {
    /// Why this client gets no answer.
    fn refusal(&self, client: &UnixStream) -> Option<String>;

    fn handle(self: Arc<Self>, request: SocketRequest) -> BoxFuture<'static, HttpReply>;
}

/// Serves until `stop`, then lets running responses finish.
pub async fn serve_socket<S: SocketService>(
    listener: UnixListener,
    service: Arc<S>,
    max_body: usize,
    stop: CancellationToken,
) {
    let (permits, outbound) = (Arc::new(Semaphore::new(MAX_CONNECTIONS)), OutboundBudget::default());
    let connections = TaskTracker::new();
    loop {
        let accepted = async {
            let permit = Arc::clone(&permits).acquire_owned().await;
            (permit, listener.accept().await)
        };
        let (permit, accepted) = tokio::select! {
            accepted = accepted => accepted,
            () = stop.cancelled() => break,
        };
        match accepted {
            Ok((stream, _)) => {
                let (service, connection, stop) = (Arc::clone(&service), outbound.connection(), stop.clone());
                connections.spawn(async move {
                    serve(stream, service, connection, max_body, stop).await;
                    drop(permit);
                });
            }
            Err(error) => {
                tracing::debug!(%error, "the control socket cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    connections.close();
    connections.wait().await;
}

async fn serve<S: SocketService>(
    stream: UnixStream,
    service: Arc<S>,
    connection: Arc<OutboundConnection>,
    max_body: usize,
    stop: CancellationToken,
) {
    let (refusal, uid) = (service.refusal(&stream), stream.peer_cred().ok().map(|peer| peer.uid()));
    let outlet = Arc::clone(&connection);
    let respond = service_fn(move |request: Request<Incoming>| {
        let (service, connection, refusal) = (Arc::clone(&service), Arc::clone(&outlet), refusal.clone());
        async move {
            let reply = match refusal {
                Some(reason) => problem(StatusCode::FORBIDDEN, &reason),
                None => reply(request, service, uid, &connection, max_body).await,
            };
            let response: Response<ReplyBody> = into_response(reply, None, connection);
            Ok::<_, Infallible>(response)
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
    let mut serving = pin!(builder.serve_connection(TokioIo::new(stream), respond));
    let served = async {
        tokio::select! {
            ended = serving.as_mut() => return ended,
            () = stop.cancelled() => serving.as_mut().graceful_shutdown(),
        }
        serving.await
    };
    tokio::select! {
        ended = served => {
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection to the control socket failed");
            }
        }
        _ = connection.stalled() => tracing::debug!("closed a control socket connection: the client has stopped reading"),
    }
}

async fn reply<S: SocketService>(
    request: Request<Incoming>,
    service: Arc<S>,
    uid: Option<u32>,
    connection: &Arc<OutboundConnection>,
    max_body: usize,
) -> HttpReply {
    let (parts, body) = request.into_parts();
    let body = match tokio::time::timeout(BODY_TIMEOUT, body::read(body, max_body)).await {
        Ok(Ok(body)) => body,
        Ok(Err(BodyError::TooLarge)) => {
            return problem(StatusCode::PAYLOAD_TOO_LARGE, &format!("the body is larger than {max_body} bytes"));
        }
        Ok(Err(BodyError::Broken)) | Err(_) => return problem(StatusCode::BAD_REQUEST, "the body did not arrive"),
    };
    let query = parts.uri.query().unwrap_or_default();
    let query = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let path = parts.uri.path().to_owned();
    let (method, headers, connection) = (parts.method, parts.headers, Arc::clone(connection));
    service.handle(SocketRequest { method, path, query, headers, body, uid, connection }).await
}

/// A reply that says what is wrong.
fn problem(status: StatusCode, message: &str) -> HttpReply {
    HttpReply::json(status, json!({"error": message}).to_string())
}
