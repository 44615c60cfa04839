//! A response from a server on this machine, and the connection on which it arrives.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::response::Parts;
use http::{HeaderMap, Response, StatusCode};
use hyper::body::{Body, Incoming};

use super::LocalServer;
use super::connection::LocalConnection;
use crate::http::HttpError;
use crate::http::client::MAX_DRAINED;

/// A response whose body is being read. Dropping it returns the connection to the idle ones if the whole body has
/// arrived, and otherwise closes the connection, which cancels the request.
#[derive(Debug)]
pub(in crate::http::client) struct LocalResponse {
    server: Arc<LocalServer>,
    head: Parts,
    /// `None` once the body has failed.
    body: Option<LocalBody>,
}

impl LocalResponse {
    pub(super) fn new(server: Arc<LocalServer>, connection: LocalConnection, response: Response<Incoming>) -> Self {
        let (head, body) = response.into_parts();
        let is_read = body.is_end_stream();
        LocalResponse { server, head, body: Some(LocalBody { connection, body, is_read, drained: 0 }) }
    }

    pub(in crate::http::client) fn status(&self) -> StatusCode {
        self.head.status
    }

    pub(in crate::http::client) fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    pub(in crate::http::client) fn forget_headers(&mut self) {
        self.head.headers = HeaderMap::new();
    }

    /// The next part of the body; `None` at its end.
    pub(in crate::http::client) async fn chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        let Some(body) = &mut self.body else { return Ok(None) };
        let chunk = poll_fn(|context| body.poll_chunk(context)).await;
        if chunk.is_err() {
            self.body = None;
        }
        chunk
    }

    /// Awaits the end of the body without this response, so that the connection can be reused.
    pub(in crate::http::client) fn finish(mut self) {
        if let Some(body) = self.body.take() {
            self.server.await_end(body);
        }
    }
}

impl Drop for LocalResponse {
    fn drop(&mut self) {
        if let Some(mut body) = self.body.take()
            && body.drain() == Drained::Complete
        {
            self.server.put_back(body.connection);
        }
    }
}

/// A body that is being read, and its connection.
#[derive(Debug)]
pub(super) struct LocalBody {
    pub(super) connection: LocalConnection,
    body: Incoming,
    is_read: bool,
    /// How much has been discarded.
    drained: usize,
}

/// What is left of a body after the part that has arrived was discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drained {
    Complete,
    /// The server has not ended the body yet.
    Open,
    /// The body has failed, or is too long to be read for nothing.
    Lost,
}

impl LocalBody {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, HttpError>> {
        if self.is_read {
            return Poll::Ready(Ok(None));
        }
        self.connection.poll_body(&mut self.body, context).map(|part| {
            self.is_read = part.is_none();
            part.transpose()
        })
    }

    /// Discards the part of the body that has arrived.
    pub(super) fn drain(&mut self) -> Drained {
        loop {
            match self.poll_chunk(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(Ok(Some(data))) => self.drained += data.len(),
                Poll::Ready(Ok(None)) => return Drained::Complete,
                Poll::Ready(Err(_)) => return Drained::Lost,
                Poll::Pending => return Drained::Open,
            }
            if self.drained > MAX_DRAINED {
                return Drained::Lost;
            }
        }
    }
}
