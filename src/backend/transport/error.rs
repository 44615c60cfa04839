//! Why a request on a transport failed.

use std::fmt;

use crate::wire::RpcError;
use crate::wire::http::{HttpAnswer, HttpError};

#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum TransportError {
    /// The server responded with a JSON-RPC error.
    #[error("{0}")]
    Rpc(RpcError),
    #[error("{0}")]
    Closed(String),
    #[error("the response is larger than {0} bytes")]
    TooLarge(usize),
    #[error("the server ended the session")]
    SessionExpired,
    /// An HTTP response that is not JSON-RPC.
    #[error("{0}")]
    Unexpected(UnexpectedAnswer),
    #[error("{0}")]
    Protocol(String),
    #[error("the server speaks the HTTP+SSE transport of 2024-11-05")]
    OlderTransport,
    /// A JSON-RPC error with an HTTP status that contradicts the negotiated revision: a server of another revision may
    /// be answering at this URL now.
    #[error("{0}")]
    Misfit(RpcError),
}

impl TransportError {
    pub(crate) fn unexpected(answer: &HttpAnswer) -> Self {
        let (status, content_type) = (answer.status().as_u16(), answer.content_type().to_owned());
        TransportError::Unexpected(UnexpectedAnswer { status, content_type })
    }
}

#[derive(Clone, Debug)]
pub(crate) struct UnexpectedAnswer {
    pub(crate) status: u16,
    content_type: String,
}

impl fmt::Display for UnexpectedAnswer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let content_type = if self.content_type.is_empty() { "no Content-Type" } else { &self.content_type };
        match self.status {
            401 | 403 => write!(
                formatter,
                "the server requires authorization (HTTP {}): set `headers` for this server (OAuth is not supported yet)",
                self.status
            ),
            status => write!(formatter, "HTTP {status} ({content_type}) is not an MCP response"),
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
