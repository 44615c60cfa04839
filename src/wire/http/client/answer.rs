//! What a server answered.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AsHeaderName, CONTENT_TYPE};
use http::{HeaderMap, StatusCode};

use super::HttpError;
use super::direct::Reply;
use crate::wire::sse;

/// The two kinds of response, by the way they took.
#[derive(Debug)]
pub(super) enum Response {
    Remote(reqwest::Response),
    Local(Box<Reply>),
}

impl Response {
    pub(super) fn headers(&self) -> &HeaderMap {
        match self {
            Response::Remote(response) => response.headers(),
            Response::Local(reply) => reply.headers(),
        }
    }

    pub(super) fn status(&self) -> StatusCode {
        match self {
            Response::Remote(response) => response.status(),
            Response::Local(reply) => reply.status(),
        }
    }

    async fn chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        match self {
            Response::Remote(response) => Ok(response.chunk().await?),
            Response::Local(reply) => reply.chunk().await,
        }
    }
}

/// An answer. The status decides nothing here: whoever asked knows what it means.
#[derive(Debug)]
pub struct Answer {
    response: Response,
    max_bytes: usize,
}

impl Answer {
    pub(super) fn new(response: Response, max_bytes: usize) -> Self {
        Answer { response, max_bytes }
    }

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
    pub async fn body(&mut self) -> Result<Bytes, HttpError> {
        let first = self.response.chunk().await?.unwrap_or_default();
        let Some(second) = self.response.chunk().await? else {
            // Most answers come in one piece, and need no copy.
            return if first.len() > self.max_bytes { Err(HttpError::TooLarge(self.max_bytes)) } else { Ok(first) };
        };
        let mut body = [first, second].concat();
        loop {
            if body.len() > self.max_bytes {
                return Err(HttpError::TooLarge(self.max_bytes));
            }
            match self.response.chunk().await? {
                Some(chunk) => body.extend_from_slice(&chunk),
                None => return Ok(body.into()),
            }
        }
    }

    pub fn events(self) -> EventStream {
        let parser = sse::Parser::new(self.max_bytes);
        self.parsed_by(parser)
    }

    /// The events of a stream that carries more than one answer: one over the cap is cut and must not end the others.
    pub fn shared_events(self) -> EventStream {
        let parser = sse::Parser::cutting(self.max_bytes);
        self.parsed_by(parser)
    }

    fn parsed_by(self, parser: sse::Parser) -> EventStream {
        EventStream {
            response: self.response,
            parser,
            ready: Vec::new(),
            queue: VecDeque::new(),
            max_bytes: self.max_bytes,
        }
    }
}

/// The events of one answer.
#[derive(Debug)]
pub struct EventStream {
    response: Response,
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
            let Some(chunk) = self.response.chunk().await? else { return Ok(None) };
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
