//! The messages of the control API for calls: what is asked, and what happens until there is a result.

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
    /// What the caller can be asked, as capabilities of an MCP client.
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
    /// Answered by `POST /questions/ID` with the result of the request.
    #[serde(rename_all = "camelCase")]
    Question {
        id: u64,
        method: String,
        params: Raw,
        answer_seconds: u64,
    },
    Result(Raw),
    Error {
        message: String,
        /// Whether nothing of that name is published.
        unknown: bool,
    },
}
