//! A message that is refused before any method sees it.

use ::http::header::RETRY_AFTER;
use ::http::{HeaderValue, StatusCode};

use proxy_wire::http::HttpReply;
use proxy_wire::{Id, RpcError, encode};

/// When a client should try again, in seconds.
const RETRY_SECONDS: &str = "2";

/// Why a message is refused: the JSON-RPC error, and the HTTP status, which counts over HTTP only.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) error: RpcError,
}

impl Refusal {
    pub(super) fn bad_request(error: RpcError) -> Self {
        Refusal { status: StatusCode::BAD_REQUEST, error }
    }

    pub(super) fn unknown_session() -> Self {
        let error = RpcError::invalid_request("unknown session: send `initialize` again");
        Refusal { status: StatusCode::NOT_FOUND, error }
    }

    pub(super) fn too_many_sessions() -> Self {
        let error = RpcError::internal("too many sessions, and all of yours are in use; end one or try again later");
        Refusal { status: StatusCode::SERVICE_UNAVAILABLE, error }
    }

    pub(super) fn store_away() -> Self {
        let error = RpcError::internal("cannot tell whether the session has ended: the store is away; try again later");
        Refusal { status: StatusCode::SERVICE_UNAVAILABLE, error }
    }

    pub(super) fn unreachable() -> Self {
        let error = RpcError::internal("the proxy process that asked cannot be reached now; try again later");
        Refusal { status: StatusCode::SERVICE_UNAVAILABLE, error }
    }

    pub(super) fn stream_elsewhere() -> Self {
        let error = RpcError::internal("the stream is at another proxy process; try again later");
        Refusal { status: StatusCode::SERVICE_UNAVAILABLE, error }
    }

    /// The error response. `id` is that of the refused message, if it is a request.
    pub(super) fn reply(&self, id: Option<&Id>) -> HttpReply {
        let reply = HttpReply::json(self.status, encode::error(id, &self.error));
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            return reply.with_header(RETRY_AFTER, HeaderValue::from_static(RETRY_SECONDS));
        }
        reply
    }
}
