//! How a request, or a call of a server, ended.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// How a request, or a call of a server, ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    Ok,
    /// The result of a tool with `isError`.
    ToolError,
    /// A JSON-RPC error.
    Error {
        code: i64,
        message: String,
    },
    /// No response within the time limit.
    Timeout {
        message: String,
    },
    /// There is no response for another reason, such as a server that is down.
    Failed {
        message: String,
    },
    /// Nobody waits for the response any more.
    Cancelled,
    /// The response is a question to the client; the request comes again with the answer.
    Asked,
}

impl CallOutcome {
    /// `error.type` of the semantic conventions: few values, never a text of a client or server.
    pub fn error_type(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            CallOutcome::Ok | CallOutcome::Asked => return None,
            CallOutcome::ToolError => "tool_error".into(),
            CallOutcome::Error { code, .. } if is_known(*code) => code.to_string().into(),
            CallOutcome::Timeout { .. } => "timeout".into(),
            CallOutcome::Cancelled => "cancelled".into(),
            CallOutcome::Error { .. } | CallOutcome::Failed { .. } => "_OTHER".into(),
        })
    }

    /// The sentence that goes with it.
    pub fn message(&self) -> Option<&str> {
        match self {
            CallOutcome::Error { message, .. } | CallOutcome::Timeout { message } | CallOutcome::Failed { message } => {
                Some(message)
            }
            _ => None,
        }
    }
}

/// The codes that JSON-RPC and MCP define. A server may send any other number.
fn is_known(code: i64) -> bool {
    (-32768..=-32000).contains(&code)
}
