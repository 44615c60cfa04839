//! Asks a server on a Unix socket.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use http::{Method, Request};
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;

use crate::http::{HttpAnswer, HttpError};

/// How long the server may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A server on a Unix socket. Each request has a connection of its own; dropping its answer closes the connection, which
/// cancels the request.
#[derive(Clone, Debug)]
pub struct SocketClient {
    socket: PathBuf,
    max_bytes: usize,
    /// Sent with every request.
    header: Option<(HeaderName, HeaderValue)>,
}

impl SocketClient {
    /// `max_bytes` is the maximum size of an answer or of an event.
    pub fn new(socket: &Path, max_bytes: usize) -> Self {
        SocketClient { socket: socket.to_owned(), max_bytes, header: None }
    }

    /// This client with a header that it sends with every request.
    pub fn with_header(self, name: HeaderName, value: HeaderValue) -> Self {
        SocketClient { header: Some((name, value)), ..self }
    }

    pub async fn get(&self, target: &str) -> Result<HttpAnswer, HttpError> {
        self.send(Method::GET, target, Bytes::new()).await
    }

    pub async fn post(&self, target: &str, body: String) -> Result<HttpAnswer, HttpError> {
        self.send(Method::POST, target, body.into()).await
    }

    pub async fn send(&self, method: Method, target: &str, body: Bytes) -> Result<HttpAnswer, HttpError> {
        let refused = |reason: String| HttpError::Connect(reason);
        let stream = match tokio::time::timeout(CONNECT_TIMEOUT, UnixStream::connect(&self.socket)).await {
            Ok(opened) => opened.map_err(|error| refused(error.to_string()))?,
            Err(_) => return Err(refused(format!("no connection within {} s", CONNECT_TIMEOUT.as_secs()))),
        };
        let broken = |error: hyper::Error| HttpError::Broken(error.to_string());
        let (mut requests, driver) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        let driver = tokio::spawn(async move {
            if let Err(error) = driver.await {
                tracing::debug!(%error, "the connection to the control socket failed");
            }
        });
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() =
            target.parse().map_err(|error: http::uri::InvalidUri| HttpError::Broken(error.to_string()))?;
        request.headers_mut().insert(HOST, HeaderValue::from_static("localhost"));
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some((name, value)) = &self.header {
            request.headers_mut().insert(name, value.clone());
        }
        let response = requests.send_request(request).await.map_err(broken)?;
        Ok(HttpAnswer::from_socket(response, driver, self.max_bytes))
    }
}
