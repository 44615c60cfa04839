//! A response from a server on this machine, and the connection on which it arrives.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use hyper::body::{Body, Incoming};

use super::LocalServer;
use super::connection::LocalConnection;
use crate::wire::http::HttpError;

/// How much of an unread body is discarded so that its connection can be reused.
const MAX_DISCARDED: usize = 64 << 10;

/// A response whose body is being read. Dropping it returns the connection to the idle ones if the whole body has
/// arrived, and otherwise closes the connection, which cancels the request.
#[derive(Debug)]
pub(in crate::wire::http::client) struct LocalResponse {
    server: Arc<LocalServer>,
    /// `None` once the body has failed.
    connection: Option<LocalConnection>,
    response: Response<Incoming>,
    is_read: bool,
}

impl LocalResponse {
    pub(super) fn new(server: Arc<LocalServer>, connection: LocalConnection, response: Response<Incoming>) -> Self {
        let is_read = response.body().is_end_stream();
        LocalResponse { server, connection: Some(connection), response, is_read }
    }

    pub(in crate::wire::http::client) fn status(&self) -> StatusCode {
        self.response.status()
    }

    pub(in crate::wire::http::client) fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The next part of the body; `None` at its end.
    pub(in crate::wire::http::client) async fn chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        poll_fn(|context| self.poll_chunk(context)).await
    }

    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, HttpError>> {
        let Some(connection) = self.connection.as_mut().filter(|_| !self.is_read) else { return Poll::Ready(Ok(None)) };
        connection.poll_body(self.response.body_mut(), context).map(|part| match part {
            Some(Ok(data)) => Ok(Some(data)),
            Some(Err(error)) => {
                self.connection = None;
                Err(error)
            }
            None => {
                self.is_read = true;
                Ok(None)
            }
        })
    }

    /// Discards the part of the body that has already arrived: whether the body is complete.
    pub(in crate::wire::http::client) fn discard_arrived(&mut self) -> bool {
        let mut discarded = 0;
        while let Poll::Ready(Ok(Some(data))) = self.poll_chunk(&mut Context::from_waker(Waker::noop())) {
            discarded += data.len();
            if discarded > MAX_DISCARDED {
                break;
            }
        }
        self.is_read
    }
}

impl Drop for LocalResponse {
    fn drop(&mut self) {
        if self.discard_arrived()
            && let Some(connection) = self.connection.take()
        {
            self.server.put_back(connection);
        }
    }
}
