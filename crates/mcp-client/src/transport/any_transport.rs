//! A connected transport of any kind.

use std::sync::Arc;

use super::api::ApiTransport;
use super::error::TransportError;
use super::http::HttpTransport;
use super::outgoing::Outgoing;
use super::pending::PendingRequests;
use super::server_requests::QuestionTerms;
use super::sse::SseTransport;
use super::stdio::StdioTransport;
use crate::call::Peer;
use proxy_json::Raw;

#[derive(Debug)]
pub(crate) enum Transport {
    Stdio(StdioTransport),
    Http(HttpTransport),
    Sse(SseTransport),
    Api(Box<ApiTransport>),
}

impl Transport {
    /// A request id that is unique on this transport. It also serves as the request's progress token.
    pub(crate) fn next_id(&self) -> u64 {
        match self {
            Transport::Stdio(stdio) => stdio.next_id(),
            Transport::Http(http) => http.next_id(),
            Transport::Sse(sse) => sse.next_id(),
            Transport::Api(api) => api.next_id(),
        }
    }

    /// Sends a request and waits for its response. Dropping the future cancels the request as the transport requires.
    pub(crate) async fn request(&self, outgoing: Outgoing<'_>) -> Result<Raw, TransportError> {
        match self {
            Transport::Stdio(stdio) => stdio.request(outgoing).await,
            Transport::Http(http) => http.request(outgoing).await,
            Transport::Sse(sse) => sse.request(outgoing).await,
            Transport::Api(api) => api.request(outgoing).await,
        }
    }

    pub(crate) async fn notify(&self, method: &str, params: Option<&str>) -> Result<(), TransportError> {
        match self {
            Transport::Stdio(stdio) => stdio.notify(method, params).await,
            Transport::Http(http) => http.notify(method, params).await,
            Transport::Sse(sse) => sse.notify(method, params).await,
            // An API has no use for it.
            Transport::Api(_) => Ok(()),
        }
    }

    fn pending(&self) -> &PendingRequests {
        match self {
            Transport::Stdio(stdio) => stdio.pending(),
            Transport::Http(http) => http.pending(),
            Transport::Sse(sse) => sse.pending(),
            Transport::Api(api) => api.pending(),
        }
    }

    /// Sets what the server may ask clients from now on.
    pub(crate) fn set_question_terms(&self, terms: QuestionTerms) {
        self.pending().set_question_terms(terms);
    }

    /// Reserves the transport for one client, which may then be asked even while none of its calls is running.
    pub(crate) fn set_sole_client(&self, client: Arc<dyn Peer>) {
        self.pending().set_sole_client(client);
    }

    /// Whether client requests are in flight. Over HTTP, only requests in sessions are known.
    pub(crate) fn is_busy(&self) -> bool {
        self.pending().is_busy()
    }

    pub(crate) fn has_open_questions(&self) -> bool {
        self.pending().has_open_questions()
    }

    /// Completes when the server has an answer to everything that it has asked so far, with the number of its questions.
    pub(crate) async fn questions_answered(&self) -> usize {
        self.pending().questions_answered().await
    }

    pub(crate) fn is_closed(&self) -> bool {
        match self {
            Transport::Http(http) => http.is_closed(),
            Transport::Api(api) => api.is_closed(),
            Transport::Stdio(_) | Transport::Sse(_) => self.pending().is_closed(),
        }
    }

    /// Completes when the transport has closed, with the reason.
    pub(crate) async fn closed(&self) -> String {
        match self {
            Transport::Stdio(stdio) => stdio.closed().await,
            Transport::Http(http) => http.closed().await,
            Transport::Sse(sse) => sse.closed().await,
            Transport::Api(api) => api.closed().await,
        }
    }

    /// The process at the other end, if there is one.
    pub(crate) fn process_id(&self) -> Option<u32> {
        match self {
            Transport::Stdio(stdio) => stdio.process().0,
            Transport::Http(_) | Transport::Sse(_) | Transport::Api(_) => None,
        }
    }

    /// Whether a process that has exited had read everything that was sent to it.
    pub(crate) fn has_read_input(&self) -> bool {
        matches!(self, Transport::Stdio(stdio) if stdio.has_read_input())
    }

    /// Logs the output of a process that was started as a trial, from its first line on.
    pub(crate) fn release_log(&self) {
        if let Transport::Stdio(stdio) = self {
            stdio.release_log();
        }
    }

    pub(crate) async fn stop(&self) {
        match self {
            Transport::Stdio(stdio) => stdio.stop().await,
            Transport::Http(http) => http.stop().await,
            Transport::Sse(sse) => sse.stop(),
            Transport::Api(api) => api.stop(),
        }
    }
}
