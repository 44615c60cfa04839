//! Direct calls to servers, for `proxy repl`, which works with what servers offer and not with what is published. Anyone
//! who may use the socket could also start these servers.

use std::time::Duration;

use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::api::{ControlApi, Refused, problem};
use proxy_json::{Raw, RawRef};
use proxy_mcp_client::{BackendCall, CallError};
use proxy_wire::RpcError;
use proxy_wire::http::{HttpReply, SocketRequest};

/// The body of `POST /servers/call`. The name is not in the path, because it can contain any character.
#[derive(Debug, Serialize, Deserialize)]
pub struct ServerCallRequest {
    pub server: String,
    pub method: String,
    pub params: Raw,
    /// The caller's own timeout, in milliseconds.
    pub timeout: Option<u64>,
}

/// The outcome.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ServerCallOutcome {
    Result(Raw),
    /// A JSON-RPC error from the server.
    Error(Raw),
    /// The server did not answer.
    Failed(String),
}

impl ServerCallOutcome {
    /// The outcome as a backend call returns it.
    pub fn into_result(self, server: &str) -> Result<Raw, CallError> {
        match self {
            ServerCallOutcome::Result(result) => Ok(result),
            ServerCallOutcome::Error(error) => Err(CallError::Rpc(RpcError::carried(&error))),
            ServerCallOutcome::Failed(reason) => Err(CallError::Lost { backend: server.into(), reason }),
        }
    }
}

impl ControlApi {
    pub(super) async fn call_server(&self, request: &SocketRequest) -> Result<HttpReply, Refused> {
        let call: ServerCallRequest = serde_json::from_slice(&request.body)
            .map_err(|error| problem(StatusCode::BAD_REQUEST, &format!("invalid request: {error}")))?;
        if !["tools/call", "resources/read", "prompts/get"].contains(&call.method.as_str()) {
            return Err(problem(StatusCode::BAD_REQUEST, "`method` must be tools/call, resources/read or prompts/get"));
        }
        let timeout = call.timeout.map(Duration::from_millis);
        let sent = BackendCall { timeout, ..BackendCall::new(call.method, call.params) };
        let Some(outcome) = self.gateway.call_server(&call.server, sent).await else {
            return Err(problem(StatusCode::NOT_FOUND, &format!("there is no server `{}`", call.server)));
        };
        let outcome = match outcome {
            Ok(answer) => ServerCallOutcome::Result(answer.result),
            Err(CallError::Rpc(error)) => ServerCallOutcome::Error(RawRef::to_owned(error.raw())),
            Err(error) => ServerCallOutcome::Failed(error.to_string()),
        };
        let text = serde_json::to_string(&outcome)
            .map_err(|error| problem(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()))?;
        Ok(HttpReply::json(StatusCode::OK, text))
    }
}
