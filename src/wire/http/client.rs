//! Posting messages to a server and reading its answer, whichever form it chooses.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use http::header::{ACCEPT, AsHeaderName, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{HeaderMap, Method, StatusCode};

use crate::model::Secret;
use crate::wire::sse;

#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("cannot connect: {0}")]
    Connect(String),
    #[error("the connection broke: {0}")]
    Broken(String),
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    #[error("a header value is not allowed: {0}")]
    Header(String),
}

impl HttpError {
    fn from_reqwest(error: reqwest::Error) -> Self {
        // A URL may carry a token in its query; the config names the server anyway.
        let error = error.without_url();
        let cause = root_cause(&error);
        if error.is_connect() { HttpError::Connect(cause) } else { HttpError::Broken(cause) }
    }
}

fn root_cause(error: &dyn std::error::Error) -> String {
    let mut current = error;
    while let Some(source) = current.source() {
        current = source;
    }
    current.to_string()
}

/// What a server answered. The status decides nothing here: whoever asked knows what it means.
#[derive(Debug)]
pub struct Answer {
    response: reqwest::Response,
    max_bytes: usize,
}

impl Answer {
    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    pub fn header(&self, name: impl AsHeaderName) -> Option<&str> {
        self.response.headers().get(name).and_then(|value| value.to_str().ok())
    }

    pub fn content_type(&self) -> &str {
        self.header(CONTENT_TYPE).unwrap_or("")
    }

    pub fn is_events(&self) -> bool {
        self.content_type().trim_start().to_ascii_lowercase().starts_with("text/event-stream")
    }

    /// The whole body, up to the cap.
    pub async fn body(mut self) -> Result<Bytes, HttpError> {
        let first = self.response.chunk().await.map_err(HttpError::from_reqwest)?.unwrap_or_default();
        let Some(second) = self.response.chunk().await.map_err(HttpError::from_reqwest)? else {
            // Most answers come in one piece, and need no copy.
            return if first.len() > self.max_bytes { Err(HttpError::TooLarge(self.max_bytes)) } else { Ok(first) };
        };
        let mut body = [first, second].concat();
        loop {
            if body.len() > self.max_bytes {
                return Err(HttpError::TooLarge(self.max_bytes));
            }
            match self.response.chunk().await.map_err(HttpError::from_reqwest)? {
                Some(chunk) => body.extend_from_slice(&chunk),
                None => return Ok(body.into()),
            }
        }
    }

    pub fn events(self) -> EventStream {
        EventStream {
            chunks: self.response.bytes_stream().boxed(),
            parser: sse::Parser::new(self.max_bytes),
            ready: Vec::new(),
            queue: VecDeque::new(),
            max_bytes: self.max_bytes,
        }
    }
}

/// The events of one answer.
pub struct EventStream {
    chunks: BoxStream<'static, reqwest::Result<bytes::Bytes>>,
    parser: sse::Parser,
    ready: Vec<sse::Event>,
    queue: VecDeque<sse::Event>,
    max_bytes: usize,
}

impl EventStream {
    /// The next event; `None` when the server closed the stream.
    pub async fn next(&mut self) -> Result<Option<sse::Event>, HttpError> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Ok(Some(event));
            }
            let Some(chunk) = self.chunks.next().await else { return Ok(None) };
            let chunk = chunk.map_err(HttpError::from_reqwest)?;
            self.parser.push(&chunk, &mut self.ready).map_err(|_| HttpError::TooLarge(self.max_bytes))?;
            self.queue.extend(self.ready.drain(..));
        }
    }

    pub fn last_id(&self) -> Option<&str> {
        self.parser.last_id()
    }

    pub fn retry(&self) -> Option<Duration> {
        self.parser.retry()
    }
}

/// One server's endpoint over the shared connection pool.
#[derive(Clone, Debug)]
pub struct HttpClient {
    pool: reqwest::Client,
    url: reqwest::Url,
    headers: HeaderMap,
    max_bytes: usize,
}

impl HttpClient {
    /// The one pool of connections. Redirects are followed only within an origin and only those that keep the method.
    pub fn pool() -> Result<reqwest::Client, HttpError> {
        let redirects = reqwest::redirect::Policy::custom(|attempt| {
            let same_origin = attempt.previous().last().is_some_and(|from| from.origin() == attempt.url().origin());
            let keeps_method = matches!(attempt.status().as_u16(), 307 | 308);
            if same_origin && keeps_method && attempt.previous().len() < 5 { attempt.follow() } else { attempt.stop() }
        });
        reqwest::Client::builder()
            .redirect(redirects)
            .connect_timeout(Duration::from_secs(10))
            .tcp_nodelay(true)
            .user_agent(concat!("starlark-mcp-proxy/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(HttpError::from_reqwest)
    }

    pub fn new<'a>(
        pool: reqwest::Client,
        url: &str,
        configured: impl IntoIterator<Item = (&'a String, &'a Secret)>,
        max_bytes: usize,
    ) -> Result<Self, HttpError> {
        let mut headers = HeaderMap::new();
        for (name, value) in configured {
            let bad = |_| HttpError::Header(name.clone());
            let mut value = HeaderValue::from_str(value.reveal()).map_err(|_| HttpError::Header(name.clone()))?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_bytes(name.as_bytes()).map_err(bad)?, value);
        }
        let url = reqwest::Url::parse(url).map_err(|error| HttpError::Connect(error.to_string()))?;
        Ok(HttpClient { pool, url, headers, max_bytes })
    }

    /// The headers every request to this server starts from.
    pub fn headers(&self) -> HeaderMap {
        self.headers.clone()
    }

    pub async fn post(&self, mut headers: HeaderMap, body: String) -> Result<Answer, HttpError> {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        self.send(Method::POST, headers, Some(body)).await
    }

    pub async fn get(&self, mut headers: HeaderMap) -> Result<Answer, HttpError> {
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        self.send(Method::GET, headers, None).await
    }

    pub async fn delete(&self, headers: HeaderMap) -> Result<Answer, HttpError> {
        self.send(Method::DELETE, headers, None).await
    }

    async fn send(&self, method: Method, headers: HeaderMap, body: Option<String>) -> Result<Answer, HttpError> {
        let mut request = reqwest::Request::new(method, self.url.clone());
        *request.headers_mut() = headers;
        *request.body_mut() = body.map(Into::into);
        let response = self.pool.execute(request).await.map_err(HttpError::from_reqwest)?;
        Ok(Answer { response, max_bytes: self.max_bytes })
    }
}
