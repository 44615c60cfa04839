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

use super::DRAIN_TIMEOUT;
use super::HttpError;
use connection::{LocalConnection, LocalExchange};
pub(super) use response::LocalResponse;
use response::{Drained, LocalBody};

const MAX_IDLE: usize = 64;
const IDLE_TIMEOUT: Duration = Duration::from_secs(90);
/// How often bodies whose end is awaited are looked at.
const DRAIN_INTERVAL: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub(super) struct LocalServer {
    /// Host and port.
    address: (String, u16),
    idle: Mutex<IdleConnections>,
}

#[derive(Debug, Default)]
struct IdleConnections {
    /// Each with the time of its last use, the longest idle first.
    connections: Vec<(LocalConnection, Instant)>,
    /// Whether a task closes the expired ones.
    swept: bool,
    /// Bodies of which nothing more is needed but their end, each with the time since when, the oldest first. No task
    /// waits for the end, which most servers send right after the last event: the next request finds it.
    ending: Vec<(LocalBody, Instant)>,
    /// Whether a task closes the connections whose bodies do not end.
    drained: bool,
}

impl LocalServer {
    /// The server of a URI that has a host.
    pub(super) fn new(uri: &Uri) -> Arc<Self> {
        let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']').to_owned();
        Arc::new(LocalServer { address: (host, uri.port_u16().unwrap_or(80)), idle: Mutex::default() })
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

    fn lock(&self) -> MutexGuard<'_, IdleConnections> {
        self.idle.lock()
    }

    /// The connection used last: the server is the least likely to have closed that one.
    fn take_idle(&self) -> Option<LocalConnection> {
        let mut idle = self.lock();
        loop {
            while let Some((connection, _)) = idle.connections.pop() {
                // Whether the server has closed it meanwhile shows before anything is sent.
                if connection.is_ready() {
                    return Some(connection);
                }
            }
            idle.drain();
            if idle.connections.is_empty() {
                return None;
            }
        }
    }

    /// Keeps a connection for the next request, unless the exchange on it is not complete.
    fn put_back(self: &Arc<Self>, mut connection: LocalConnection) {
        // Whoever takes it checks whether it is still open.
        if !connection.is_ready() && !connection.is_idle() {
            return;
        }
        let mut idle = self.lock();
        idle.add(connection);
        // A response may be dropped outside the runtime.
        if !idle.swept
            && let Ok(runtime) = Handle::try_current()
        {
            self.sweep(&mut idle, &runtime);
        }
    }

    /// Closes connections that stay idle, from now on.
    fn sweep(self: &Arc<Self>, idle: &mut IdleConnections, runtime: &Handle) {
        if !idle.swept {
            idle.swept = true;
            runtime.spawn(repeat(Arc::downgrade(self), IDLE_TIMEOUT, |server| server.close_expired(IDLE_TIMEOUT)));
        }
    }

    /// Keeps the connection of a body until the body has ended, but not for long.
    fn await_end(self: &Arc<Self>, mut body: LocalBody) {
        match body.drain() {
            Drained::Complete => self.put_back(body.connection),
            Drained::Lost => {}
            Drained::Open => {
                // Without a runtime nothing can be read any more.
                let Ok(runtime) = Handle::try_current() else { return };
                let mut idle = self.lock();
                idle.ending.push((body, Instant::now()));
                if idle.ending.len() > MAX_IDLE {
                    idle.ending.remove(0);
                }
                // What has ended is idle.
                self.sweep(&mut idle, &runtime);
                if !idle.drained {
                    idle.drained = true;
                    runtime.spawn(repeat(Arc::downgrade(self), DRAIN_INTERVAL, |server| server.close_endless()));
                }
            }
        }
    }

    /// Closes the connections that have been idle for that long: whether any are left.
    fn close_expired(&self, timeout: Duration) -> bool {
        let mut idle = self.lock();
        idle.connections.retain(|(_, since)| since.elapsed() < timeout);
        idle.swept = !idle.connections.is_empty() || !idle.ending.is_empty();
        idle.swept
    }

    /// Closes the connections whose bodies have not ended in time: whether any may still end.
    fn close_endless(&self) -> bool {
        let mut idle = self.lock();
        idle.drain();
        idle.ending.retain(|(_, since)| since.elapsed() < DRAIN_TIMEOUT);
        idle.drained = !idle.ending.is_empty();
        idle.drained
    }
}

impl IdleConnections {
    fn add(&mut self, connection: LocalConnection) {
        self.connections.push((connection, Instant::now()));
        if self.connections.len() > MAX_IDLE {
            self.connections.remove(0);
        }
    }

    /// Takes the connections whose bodies have ended.
    fn drain(&mut self) {
        for (mut body, since) in std::mem::take(&mut self.ending) {
            match body.drain() {
                // Whoever takes it checks whether it is still open.
                Drained::Complete => self.add(body.connection),
                Drained::Open => self.ending.push((body, since)),
                Drained::Lost => {}
            }
        }
    }
}

/// Looks at a server's connections again and again, for as long as there are any to look at.
async fn repeat(server: Weak<LocalServer>, interval: Duration, look: fn(&LocalServer) -> bool) {
    loop {
        tokio::time::sleep(interval).await;
        if !server.upgrade().is_some_and(|server| look(&server)) {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
