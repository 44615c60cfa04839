//! A message that is refused before any method sees it.

use ::http::StatusCode;

use proxy_wire::http::HttpReply;
use proxy_wire::{Id, RpcError, encode};

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

    /// The error response. `id` is that of the refused message, if it is a request.
    pub(super) fn reply(&self, id: Option<&Id>) -> HttpReply {
        HttpReply::json(self.status, encode::error(id, &self.error))
    }
}
