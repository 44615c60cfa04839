//! What is recorded of one request: by whom, about what, who decided, how it ended. One record, many readers: the audit
//! log, `proxy calls`, traces.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::{ClientInfo, Definition, ItemKind, Principal, RequestTrace, SpanId};
use crate::json::Raw;

/// A request that is over.
#[derive(Clone, Debug)]
pub struct CallRecord {
    /// Unique, and in the order of time: a UUID of version 7.
    pub id: String,
    pub began: SystemTime,
    pub duration: Duration,
    pub method: Cow<'static, str>,
    /// The id that the client gave the request. `None` for commands.
    pub request_id: Option<String>,
    /// The revision of the protocol that the client speaks.
    pub protocol: Option<&'static str>,
    /// The published item that the request was about.
    pub item: Option<RecordedItem>,
    pub principal: Principal,
    pub client: Arc<ClientInfo>,
    pub source: CallSource,
    /// The digest of the session script that decided.
    pub policy: Option<Arc<str>>,
    pub outcome: CallOutcome,
    /// Why the proxy or its script refused the request.
    pub refusal: Option<CallRefusal>,
    /// As the client sent them.
    pub params: Option<Raw>,
    /// As the client gets it.
    pub result: Option<Raw>,
    /// The calls of servers that the request led to, in the order in which they ended.
    pub server_calls: Vec<ServerCallRecord>,
    /// How many more there were than a record holds.
    pub more_server_calls: usize,
    pub replay: ReplayFacts,
    /// Its span, if it is traced.
    pub trace: Option<Arc<RequestTrace>>,
}

/// What a backtest needs of a request beside its params and results.
#[derive(Clone, Debug, Default)]
pub struct ReplayFacts {
    /// The request headers that scripts see.
    pub headers: Arc<[(String, String)]>,
    /// The number of the session in this process. It owns the stored values of an anonymous client.
    pub session: Option<u64>,
    /// The questions of the script that were answered while the request ran, in this order.
    pub questions: Vec<AnsweredQuestion>,
    /// How the call of the item ended, before its outcome was encoded for the revision of the client. `None` if it did not
    /// end within this request.
    pub handled: Option<HandledCall>,
    /// Whether the script read values that earlier calls may have stored.
    pub reads_state: bool,
}

/// A question of the script and its answer, which need not be valid.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AnsweredQuestion {
    pub message: String,
    pub answer: Raw,
}

/// The outcome of the call of an item, in the form that no revision has changed.
#[derive(Clone, Debug)]
pub struct HandledCall {
    pub outcome: CallOutcome,
    pub result: Option<Raw>,
}

/// The published item of a request.
#[derive(Clone, Debug)]
pub struct RecordedItem {
    pub kind: ItemKind,
    /// The published name or URI.
    pub name: String,
    /// The server's item that is behind it, by server and name there.
    pub origin: Option<(Arc<str>, Arc<str>)>,
    /// As published; `None` if nothing of that name is published.
    pub definition: Option<Arc<Definition>>,
}

/// Where a request came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallSource {
    Stdio,
    Http,
    /// The control socket: a command of the local user.
    Control,
    /// The page of `proxy console`, over the control socket.
    Console,
}

impl CallSource {
    pub fn as_str(self) -> &'static str {
        match self {
            CallSource::Stdio => "stdio",
            CallSource::Http => "http",
            CallSource::Control => "control",
            CallSource::Console => "console",
        }
    }
}

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

/// Why the proxy or its script refused a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRefusal {
    pub reason: RefusalReason,
    /// The line of the script that refused, such as `policy.star:41`.
    pub at: Option<String>,
    pub why: String,
}

/// Who refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalReason {
    /// `fail()` in `on_request` or `on_other_request`.
    OnRequest,
    /// `fail()` in a handler.
    Handler,
    /// `fail()` or a result with `isError`, after a rate limit was exceeded.
    RateLimit,
    /// The arguments do not match the published schema.
    Schema,
    /// Nothing of that name is published.
    Unknown,
    /// The audit log is required and cannot be written.
    Audit,
    /// A policy of `cedar` forbids it, or none permits it.
    Policy,
}

impl RefusalReason {
    pub const ALL: [Self; 7] =
        [Self::OnRequest, Self::Handler, Self::RateLimit, Self::Schema, Self::Unknown, Self::Audit, Self::Policy];

    pub fn as_str(self) -> &'static str {
        match self {
            RefusalReason::OnRequest => "on_request",
            RefusalReason::Handler => "handler",
            RefusalReason::RateLimit => "rate_limit",
            RefusalReason::Schema => "schema",
            RefusalReason::Unknown => "unknown",
            RefusalReason::Audit => "audit",
            RefusalReason::Policy => "policy",
        }
    }
}

/// One call of a server or of a local tool.
#[derive(Clone, Debug)]
pub struct ServerCallRecord {
    pub server: Arc<str>,
    pub method: Cow<'static, str>,
    pub began: SystemTime,
    pub duration: Duration,
    pub params: Raw,
    pub result: Option<Raw>,
    pub outcome: CallOutcome,
    /// Whether it ran in this process.
    pub is_local: bool,
    /// Its span, if the request is traced.
    pub span: Option<SpanId>,
}

/// Reads every record as soon as its request is over. Called on the task of the request: it must not block.
pub trait CallReader: Send + Sync {
    fn read(&self, record: &Arc<CallRecord>);
}
