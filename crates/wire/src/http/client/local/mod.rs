//! Servers on this machine: plain HTTP/1.1 over connections that are kept open for the next request.

mod connection;
mod early_response;
mod io_waker;
mod response;

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::HeaderValue;
use http::{HeaderMap, Method, Request, Uri};
use http_body_util::Full;
use parking_lot::{Mutex, MutexGuard};
use tokio::runtime::Handle;

use super::HttpError;
use connection::{LocalConnection, LocalExchange};
use proxy_fiber::{PerThread, serving_thread};
pub(super) use response::LocalResponse;

const MAX_IDLE: usize = 64;
const IDLE_TIMEOUT: Duration = Duration::from_secs(90);

#[derive(Debug)]
pub(super) struct LocalServer {
    /// Host and port.
    address: (String, u16),
    /// Each thread has its own, because the I/O of a connection wakes the thread that opened it.
    idle: PerThread<Mutex<IdleConnections>>,
}

#[derive(Debug, Default)]
struct IdleConnections {
    /// Each with the time of its last use, the longest idle first.
    connections: Vec<(LocalConnection, Instant)>,
    /// Whether a task closes the expired ones.
    swept: bool,
}

impl LocalServer {
    /// The server of a URI that has a host.
    pub(super) fn new(uri: &Uri) -> Arc<Self> {
        let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']').to_owned();
        Arc::new(LocalServer { address: (host, uri.port_u16().unwrap_or(80)), idle: PerThread::default() })
    }

    /// The value of the `Host` header.
    pub(super) fn host(uri: &Uri) -> Option<HeaderValue> {
        HeaderValue::from_str(uri.authority()?.as_str()).ok()
    }

    /// Sends a request whose `target` is a path with an optional query.
    pub(super) async fn send(
        self: &Arc<Self>,
        method: Method,
        target: Uri,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<LocalResponse, HttpError> {
        let mut request = Request::new(Full::new(body));
        (*request.method_mut(), *request.uri_mut(), *request.headers_mut()) = (method, target, headers);
        // The server may close an idle connection at any time. A request of which nothing was written is sent on
        // another connection; any other one may have had an effect and is not repeated.
        while let Some(mut connection) = self.take_idle() {
            match connection.exchange(request).await? {
                LocalExchange::Response(response) => return Ok(self.response(connection, response)),
                LocalExchange::Unsent(unsent) => request = unsent,
            }
        }
        let mut connection = Box::pin(LocalConnection::open(&self.address)).await?;
        match connection.exchange(request).await? {
            LocalExchange::Response(response) => Ok(self.response(connection, response)),
            LocalExchange::Unsent(_) => Err(HttpError::Broken("the server closed the connection".to_owned())),
        }
    }

    fn response(
        self: &Arc<Self>,
        connection: LocalConnection,
        response: http::Response<hyper::body::Incoming>,
    ) -> LocalResponse {
        LocalResponse::new(Arc::clone(self), connection, response)
    }

    /// The idle connections of a thread.
    fn idle_of(&self, thread: usize) -> MutexGuard<'_, IdleConnections> {
        self.idle.of(thread).lock()
    }

    /// This thread's connection that was used last: the server is the least likely to have closed that one.
    fn take_idle(&self) -> Option<LocalConnection> {
        let mut idle = self.idle_of(serving_thread());
        while let Some((connection, _)) = idle.connections.pop() {
            // Whether the server has closed it meanwhile shows before anything is sent.
            if connection.is_ready() {
                return Some(connection);
            }
        }
        None
    }

    /// Keeps a connection for the next request, unless the exchange on it is not complete.
    fn put_back(self: &Arc<Self>, mut connection: LocalConnection) {
        // Whoever takes it checks whether it is still open.
        if !connection.is_ready() && !connection.is_idle() {
            return;
        }
        let thread = connection.thread();
        let mut idle = self.idle_of(thread);
        idle.connections.push((connection, Instant::now()));
        if idle.connections.len() > MAX_IDLE {
            idle.connections.remove(0);
        }
        // A response may be dropped outside the runtime.
        if !idle.swept
            && let Ok(runtime) = Handle::try_current()
        {
            idle.swept = true;
            runtime.spawn(sweep(Arc::downgrade(self), thread));
        }
    }

    /// Closes a thread's connections that have been idle for that long: whether any are left.
    fn close_expired(&self, thread: usize, timeout: Duration) -> bool {
        let mut idle = self.idle_of(thread);
        idle.connections.retain(|(_, since)| since.elapsed() < timeout);
        idle.swept = !idle.connections.is_empty();
        idle.swept
    }
}

/// Closes a thread's connections that stay idle, for as long as there are any.
async fn sweep(server: Weak<LocalServer>, thread: usize) {
    loop {
        tokio::time::sleep(IDLE_TIMEOUT).await;
        if !server.upgrade().is_some_and(|server| server.close_expired(thread, IDLE_TIMEOUT)) {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
