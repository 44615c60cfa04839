//! Why a request on a transport failed.

use std::fmt;

use proxy_json::Raw;
use proxy_model::LoginNeeded;
use proxy_wire::RpcError;
use proxy_wire::http::{HttpAnswer, HttpError};

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
    /// Only a person can help, by a log-in.
    #[error("{0}")]
    LoginNeeded(LoginNeeded),
    /// The log-in lacks permission for this request.
    #[error("{0}")]
    Forbidden(String),
    /// The log-in could not be renewed for now.
    #[error("{0}")]
    NotRenewed(String),
    /// An API says that the fault is its own. Clients get this result all the same.
    #[error("HTTP {status}")]
    ApiFault { status: u16, result: Raw },
}

impl TransportError {
    pub(crate) fn unexpected(answer: &HttpAnswer) -> Self {
        let (status, content_type) = (answer.status().as_u16(), answer.content_type().to_owned());
        TransportError::Unexpected(UnexpectedAnswer { status, content_type, log_in_offered: false })
    }

    /// The server refused a request, but does not ask for a log-in.
    pub(crate) fn not_a_log_in(answer: &HttpAnswer) -> Self {
        let (status, content_type) = (answer.status().as_u16(), answer.content_type().to_owned());
        TransportError::Unexpected(UnexpectedAnswer { status, content_type, log_in_offered: true })
    }
}

#[derive(Clone, Debug)]
pub(crate) struct UnexpectedAnswer {
    pub(crate) status: u16,
    content_type: String,
    /// Whether the proxy could have logged in, because the config sets no credentials.
    log_in_offered: bool,
}

impl fmt::Display for UnexpectedAnswer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let content_type = if self.content_type.is_empty() { "no Content-Type" } else { &self.content_type };
        match self.status {
            401 if self.log_in_offered => formatter.write_str(
                "the server requires authorization that `proxy login` does not support (HTTP 401): set `headers` for this \
                 server",
            ),
            403 if self.log_in_offered => formatter.write_str(
                "the server refuses access (HTTP 403) and does not offer authorization: set `headers` for this server, or \
                 ask its operator",
            ),
            401 | 403 => {
                let status = self.status;
                write!(formatter, "the server does not accept the proxy's credentials (HTTP {status}): check `headers` of this server")
            }
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
