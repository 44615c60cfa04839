//! The messages of the control API for calls: the request, and the events up to the result.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use proxy_json::Raw;
use proxy_model::NamedUser;

/// The body of `POST /call`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CallRequest {
    /// `tool`, `resource` or `prompt`.
    pub kind: String,
    /// The published name or URI.
    pub key: String,
    /// The params of the MCP request.
    pub params: Raw,
    /// The user to act as; the local user if it is missing.
    #[serde(default)]
    pub user: Option<NamedUser>,
    /// Which elicitations the caller supports, as MCP client capabilities.
    #[serde(default)]
    pub capabilities: Value,
}

/// The body of `POST /exec`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExecRequest {
    pub script: String,
    /// What the script reads as `data`.
    pub data: Value,
    #[serde(default)]
    pub user: Option<NamedUser>,
    #[serde(default)]
    pub capabilities: Value,
}

/// An event of a call. The last one is `result` or `error`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CallEvent {
    /// The params of `notifications/progress`.
    Progress(Raw),
    /// The params of `notifications/message`.
    Log(Raw),
    /// Answered by `POST /elicitations/ID` with the result of the request.
    #[serde(rename_all = "camelCase")]
    Elicitation {
        id: u64,
        method: String,
        params: Raw,
        answer_seconds: u64,
    },
    Result(Raw),
    Error {
        message: String,
        /// Whether no item of that name is published.
        unknown: bool,
    },
}
