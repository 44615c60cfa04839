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
        LocalResponse { server, head, body: Some(LocalBody { connection, body, is_read }) }
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

    /// Discards the part of the body that has arrived: whether that was all of it.
    pub(in crate::http::client) fn has_ended(&mut self) -> bool {
        self.body.as_mut().is_none_or(LocalBody::drain)
    }
}

impl Drop for LocalResponse {
    fn drop(&mut self) {
        if let Some(mut body) = self.body.take()
            && body.drain()
        {
            self.server.put_back(body.connection);
        }
    }
}

/// A body that is being read, and its connection.
#[derive(Debug)]
struct LocalBody {
    connection: LocalConnection,
    body: Incoming,
    is_read: bool,
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

    /// Discards the part of the body that has arrived: whether that was all of it.
    fn drain(&mut self) -> bool {
        let mut drained = 0;
        while drained <= MAX_DRAINED {
            match self.poll_chunk(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(Ok(Some(data))) => drained += data.len(),
                Poll::Ready(Ok(None)) => return true,
                Poll::Ready(Err(_)) | Poll::Pending => return false,
            }
        }
        false
    }
}
