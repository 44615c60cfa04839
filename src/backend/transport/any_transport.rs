//! A connected transport: requests go out, answers come back, whichever way the bytes travel.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http::HeaderName;

use super::http::exchange::HttpTransport;
use super::pending::PendingTable;
use super::server_requests::Terms;
use super::sse::SseTransport;
use super::stdio::StdioTransport;
use crate::backend::call::peer::Peer;
use crate::json::Raw;
use crate::wire::RpcError;
use crate::wire::http::HttpError;

/// Why a request on a link has no result.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum TransportError {
    #[error("{0}")]
    Rpc(RpcError),
    #[error("{0}")]
    Closed(String),
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    #[error("the server ended its session")]
    SessionExpired,
    /// An HTTP answer that is no JSON-RPC: its status and what it looked like.
    #[error("{0}")]
    Unexpected(UnexpectedAnswer),
    #[error("{0}")]
    Protocol(String),
    #[error("it speaks the HTTP+SSE transport of 2024-11-05")]
    OlderTransport,
    /// An error that comes with an HTTP status, and does not fit what was agreed: another kind of server may answer.
    #[error("{0}")]
    Misfit(RpcError),
}

#[derive(Clone, Debug)]
pub(crate) struct UnexpectedAnswer {
    pub(crate) status: u16,
    pub(crate) content_type: String,
}

impl std::fmt::Display for UnexpectedAnswer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = if self.content_type.is_empty() { "no content type" } else { &self.content_type };
        match self.status {
            401 | 403 => write!(
                formatter,
                "it answered HTTP {} and wants authorization: set `headers` for this server (OAuth is not supported yet)",
                self.status
            ),
            status => write!(formatter, "it answered HTTP {status} ({kind}), which is not an MCP answer"),
        }
    }
}

impl From<HttpError> for TransportError {
    fn from(error: HttpError) -> Self {
        match error {
            HttpError::TooLarge(limit) => TransportError::TooLarge(limit),
            other => TransportError::Closed(other.to_string()),
        }
    }
}

/// When a request last showed a sign of life, not counting the time a person was asked something.
#[derive(Debug)]
pub(crate) struct Activity {
    started: Instant,
    state: Mutex<Beats>,
}

#[derive(Debug, Default)]
struct Beats {
    last: Duration,
    /// Questions that are out, and since when.
    asking: usize,
    since: Duration,
    /// How long there were any, in all.
    asked: Duration,
}

impl Activity {
    /// Of a request whose time has run since then.
    pub(crate) fn since(started: Instant) -> Arc<Self> {
        Arc::new(Activity { started, state: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Beats> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn beat(&self) {
        self.lock().last = self.started.elapsed();
    }

    /// The clock stands still until what this returns is dropped.
    pub(crate) fn pause(self: &Arc<Self>) -> Paused {
        let mut beats = self.lock();
        beats.asking += 1;
        if beats.asking == 1 {
            beats.since = self.started.elapsed();
        }
        Paused(Arc::clone(self))
    }

    /// How long there may still be silence; none while a person is being asked.
    fn left(&self, patience: Duration, limit: Duration) -> Option<Duration> {
        let beats = self.lock();
        if beats.asking > 0 {
            return None;
        }
        let end = (beats.last + patience).min(limit + beats.asked);
        Some(end.saturating_sub(self.started.elapsed()))
    }

    /// Ends when there was no sign of life for `patience`, or when `limit` has passed in all.
    pub(crate) async fn silence(&self, patience: Duration, limit: Duration) -> Duration {
        loop {
            match self.left(patience, limit) {
                Some(Duration::ZERO) => return self.started.elapsed(),
                Some(left) => tokio::time::sleep(left).await,
                // Looked at again often enough: what comes next is a whole `patience` at least.
                None => tokio::time::sleep(patience.min(Duration::from_secs(1))).await,
            }
        }
    }
}

/// A person is being asked.
#[derive(Debug)]
pub(crate) struct Paused(Arc<Activity>);

impl Drop for Paused {
    fn drop(&mut self) {
        let now = self.0.started.elapsed();
        let mut beats = self.0.lock();
        beats.asking -= 1;
        if beats.asking == 0 {
            let asked = now.saturating_sub(beats.since);
            beats.asked += asked;
            beats.last = now;
        }
    }
}

/// One request as a link sends it.
#[derive(Debug)]
pub(crate) struct Outgoing<'a> {
    pub(crate) id: u64,
    pub(crate) method: &'a str,
    pub(crate) params: String,
    /// For whom it is; progress is asked for if they want it.
    pub(crate) peer: Option<Arc<dyn Peer>>,
    pub(crate) pulse: Option<Arc<Activity>>,
    /// `Mcp-Name` and `Mcp-Param-*`, for stateless HTTP.
    pub(crate) headers: Vec<(HeaderName, String)>,
    /// Handshakes must not be cancelled.
    pub(crate) cancellable: bool,
}

impl<'a> Outgoing<'a> {
    pub(crate) fn plain(id: u64, method: &'a str, params: String) -> Self {
        Outgoing { id, method, params, peer: None, pulse: None, headers: Vec::new(), cancellable: false }
    }
}

#[derive(Debug)]
pub(crate) enum Transport {
    Stdio(StdioTransport),
    Http(HttpTransport),
    Sse(SseTransport),
}

impl Transport {
    /// An id no other request of this link has; progress tokens are the same number.
    pub(crate) fn next_id(&self) -> u64 {
        match self {
            Transport::Stdio(link) => link.next_id(),
            Transport::Http(link) => link.next_id(),
            Transport::Sse(link) => link.next_id(),
        }
    }

    /// Sends a request and waits for its answer. Dropping the future cancels it by the rule of the transport.
    pub(crate) async fn request(&self, outgoing: Outgoing<'_>) -> Result<Raw, TransportError> {
        match self {
            Transport::Stdio(link) => link.request(outgoing).await,
            Transport::Http(link) => link.request(outgoing).await,
            Transport::Sse(link) => link.request(outgoing).await,
        }
    }

    pub(crate) async fn notify(&self, method: &str, params: Option<&str>) -> Result<(), TransportError> {
        match self {
            Transport::Stdio(link) => link.notify(method, params).await,
            Transport::Http(link) => link.notify(method, params).await,
            Transport::Sse(link) => link.notify(method, params).await,
        }
    }

    fn pending(&self) -> &PendingTable {
        match self {
            Transport::Stdio(link) => link.pending(),
            Transport::Http(link) => link.pending(),
            Transport::Sse(link) => link.pending(),
        }
    }

    /// What the server may ask from now on.
    pub(crate) fn agree_terms(&self, terms: Terms) {
        self.pending().agree_terms(terms);
    }

    /// It is this client's own.
    pub(crate) fn belongs_to(&self, client: &Arc<dyn Peer>) {
        self.pending().belongs_to(Arc::clone(client));
    }

    /// Whether requests of clients are on their way, as far as that is known.
    pub(crate) fn is_busy(&self) -> bool {
        self.pending().is_busy()
    }

    /// Ends when the link is dead, with the reason.
    pub(crate) async fn closed(&self) -> String {
        match self {
            Transport::Stdio(link) => link.closed().await,
            Transport::Http(link) => link.closed().await,
            Transport::Sse(link) => link.closed().await,
        }
    }

    pub(crate) async fn stop(&self) {
        match self {
            Transport::Stdio(link) => link.stop().await,
            Transport::Http(link) => link.stop().await,
            Transport::Sse(link) => link.stop(),
        }
    }
}
