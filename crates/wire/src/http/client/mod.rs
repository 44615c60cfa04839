//! The HTTP client: posts messages to a server and reads its responses, as JSON or as an event stream.

mod answer;
mod error;
mod local;
mod pool;
mod sent_headers;

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{HeaderMap, Method};

pub use answer::{EventStream, HttpAnswer};
pub use error::HttpError;
pub use pool::HttpPool;
use pool::Route;
pub use sent_headers::SentHeaders;

use proxy_model::Secret;

/// How long the end of an event stream is awaited after the last event that matters, and how much is read until then.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
const MAX_DRAINED: usize = 64 << 10;

/// The endpoint of one server.
#[derive(Clone, Debug)]
pub struct HttpClient {
    route: Route,
    headers: HeaderMap,
    max_bytes: usize,
}

impl HttpClient {
    pub fn new<'a>(
        pool: &HttpPool,
        url: &str,
        configured: impl IntoIterator<Item = (&'a String, &'a Secret)>,
        max_bytes: usize,
    ) -> Result<Self, HttpError> {
        let mut headers = HeaderMap::new();
        for (name, value) in configured {
            let invalid = || HttpError::Header(name.clone());
            let mut value = HeaderValue::from_str(value.reveal()).map_err(|_| invalid())?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?, value);
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        let route = pool.route(url)?;
        route.add_headers(&mut headers);
        Ok(HttpClient { route, headers, max_bytes })
    }

    /// Sends a header with every request.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// The endpoint at a URL that the server named, relative to this one. The headers hold credentials, so the URL must
    /// have the same origin.
    pub fn resolve(&self, reference: &str) -> Result<Self, HttpError> {
        Ok(HttpClient { route: self.route.resolve(reference)?, ..self.clone() })
    }

    /// The headers every request to this server starts from.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Posts a message. `headers` are those of [`HttpClient::headers`] and what the request adds to them.
    pub async fn post(&self, headers: SentHeaders<'_>, body: impl Into<Bytes>) -> Result<HttpAnswer, HttpError> {
        self.send(Method::POST, headers, body.into()).await
    }

    /// Opens an event stream.
    pub async fn get(&self, headers: SentHeaders<'_>) -> Result<HttpAnswer, HttpError> {
        let mut headers = headers.to_map();
        headers.remove(CONTENT_TYPE);
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        self.send(Method::GET, (&headers).into(), Bytes::new()).await
    }

    /// Ends a session.
    pub async fn delete(&self, headers: SentHeaders<'_>) -> Result<HttpAnswer, HttpError> {
        let mut headers = headers.to_map();
        headers.remove(CONTENT_TYPE);
        self.send(Method::DELETE, (&headers).into(), Bytes::new()).await
    }

    /// Sends a request of any kind to a URL of the same origin. Its headers are these and no others.
    pub async fn request(
        &self,
        method: Method,
        url: &str,
        headers: SentHeaders<'_>,
        body: Bytes,
    ) -> Result<HttpAnswer, HttpError> {
        let response = self.route.resolve(url)?.send(method, headers, body).await?;
        Ok(HttpAnswer::new(response, self.max_bytes))
    }

    async fn send(&self, method: Method, headers: SentHeaders<'_>, body: Bytes) -> Result<HttpAnswer, HttpError> {
        self.route.send(method, headers, body).await.map(|response| HttpAnswer::new(response, self.max_bytes))
    }
}
