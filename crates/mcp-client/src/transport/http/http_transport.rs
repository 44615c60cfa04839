//! The transport's public face: requests, notifications and the task that reads the standalone stream.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use http::HeaderValue;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::exchange::HttpExchange;
use super::listener;
use crate::transport::cancel_on_drop::CancelOnDrop;
use crate::transport::error::TransportError;
use crate::transport::outgoing::Outgoing;
use crate::transport::pending::PendingRequests;
use crate::transport::server_client::ServerClient;
use crate::transport::signals::Signals;
use proxy_json::Raw;
use proxy_wire::{Revision, encode};

/// How long the DELETE that ends a session may take.
const END_SESSION_TIMEOUT: Duration = Duration::from_secs(2);
/// The first request id, at least, in a session that another process has opened: it began with 1.
const FIRST_CONTINUED_ID: u64 = 1 << 32;
/// Request ids begin within so many numbers. All of them are integers in JavaScript.
const CONTINUED_IDS: u64 = 1 << 52;

#[derive(Debug)]
pub(crate) struct HttpTransport {
    exchange: Arc<HttpExchange>,
    next_id: AtomicU64,
    /// Whether the session goes on after the transport has stopped.
    leaves_session: AtomicBool,
    /// Reads the standalone stream of a session.
    listener: Mutex<Option<JoinHandle<()>>>,
}

impl HttpTransport {
    pub(crate) fn new(server: &Arc<str>, client: ServerClient, signals: Arc<Signals>) -> Self {
        let exchange = Arc::new(HttpExchange::new(server, client, signals));
        HttpTransport {
            exchange,
            next_id: AtomicU64::new(1),
            leaves_session: AtomicBool::new(false),
            listener: Mutex::new(None),
        }
    }

    /// Goes on with a session that another process has opened. A session must not see a request id twice, and nobody knows
    /// which ids it has seen: the ids begin at random.
    pub(crate) fn go_on(&self, revision: Revision, session: HeaderValue) {
        let random = getrandom::u64().unwrap_or_default() % CONTINUED_IDS;
        self.next_id.store(random.max(FIRST_CONTINUED_ID), Ordering::Relaxed);
        self.exchange.set_negotiated(Some(revision), Some(session));
    }

    /// The id of the session, if there is one.
    pub(crate) fn session(&self) -> Option<HeaderValue> {
        self.exchange.negotiated().session.clone()
    }

    /// Lets the session go on after the transport has stopped: another process takes it over.
    pub(crate) fn leave_session(&self) {
        self.leaves_session.store(true, Ordering::Relaxed);
    }

    pub(crate) fn pending(&self) -> &PendingRequests {
        &self.exchange.pending
    }

    /// Another transport to the same server, on which nothing is negotiated yet.
    pub(crate) fn fresh(&self) -> HttpTransport {
        HttpTransport::new(&self.exchange.server, self.exchange.client.clone(), Arc::default())
    }

    pub(crate) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Sets the revision whose headers are sent from now on.
    pub(crate) fn set_revision(&self, revision: Option<Revision>) {
        let session = self.exchange.negotiated().session.clone();
        self.exchange.set_negotiated(revision, session);
    }

    pub(crate) async fn request(&self, outgoing: Outgoing<'_>) -> Result<Raw, TransportError> {
        if self.exchange.negotiated().is_stateless() {
            // Dropping the future closes the response stream, which is how a stateless request is cancelled.
            return self.exchange.request(&outgoing).await;
        }
        // What the server sends on its standalone stream may belong to this request.
        let is_pending = outgoing.peer.is_some();
        if is_pending {
            drop(self.exchange.pending.add(&outgoing)?);
        }
        let cancel = |message: String| {
            let exchange = Arc::clone(&self.exchange);
            tokio::spawn(async move { exchange.post_in_background("notifications/cancelled", message).await });
        };
        let pending = is_pending.then_some(&*self.exchange.pending);
        let guard = CancelOnDrop::new(pending, &outgoing, outgoing.cancellable.then_some(cancel));
        let outcome = self.exchange.request(&outgoing).await;
        guard.complete();
        if is_pending {
            self.exchange.pending.remove(outgoing.id);
        }
        outcome
    }

    pub(crate) async fn notify(&self, method: &str, params: Option<&str>) -> Result<(), TransportError> {
        self.exchange.post(method, &[], None, encode::notification(method, params)).await.map(drop)
    }

    /// Opens the standalone stream of a session. Completes when the stream is open or cannot be opened.
    pub(crate) async fn listen(&self) {
        let exchange = Arc::clone(&self.exchange);
        let (opened, is_open) = oneshot::channel();
        let task = tokio::spawn(async move { listener::listen(&exchange, opened).await });
        if let Some(old) = self.listener.lock().replace(task) {
            old.abort();
        }
        let _ = is_open.await;
    }

    /// Closes the transport, so that the supervisor connects anew: what was negotiated no longer holds.
    pub(crate) fn abandon(&self, reason: &str) {
        self.exchange.close(reason);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.exchange.is_closed()
    }

    pub(crate) async fn closed(&self) -> String {
        self.exchange.closed().await
    }

    /// Ends the session, and everything that waits for the transport.
    pub(crate) async fn stop(&self) {
        self.stop_listening();
        self.exchange.close("it was stopped by the proxy");
        let negotiated = self.exchange.negotiated();
        if negotiated.session.is_some() && !self.leaves_session.load(Ordering::Relaxed) {
            let delete = self.exchange.client.delete((&negotiated.headers).into());
            if tokio::time::timeout(END_SESSION_TIMEOUT, delete).await.is_err() {
                tracing::debug!(server = %self.exchange.server, "the session was not ended in time");
            }
        }
    }

    fn stop_listening(&self) {
        if let Some(listener) = self.listener.lock().take() {
            listener.abort();
        }
    }
}

impl Drop for HttpTransport {
    fn drop(&mut self) {
        self.stop_listening();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::log_in::LogIn;
    use proxy_wire::http::{HttpClient, HttpPool};

    #[tokio::test]
    async fn who_waits_for_a_transport_learns_that_it_was_stopped() {
        let client = HttpClient::new(&HttpPool::default(), "http://127.0.0.1:9/mcp", [], 1 << 20).unwrap();
        let client = ServerClient::new(client, &LogIn::new(&"fake".into(), None));
        let transport = HttpTransport::new(&"fake".into(), client, Arc::default());
        let mut closed = std::pin::pin!(transport.closed());
        assert!(futures::poll!(&mut closed).is_pending());
        transport.stop().await;
        assert_eq!(closed.await, "it was stopped by the proxy");
    }
}
