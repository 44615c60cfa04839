//! The record of one request: caller, item, decision, outcome.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::{CallOutcome, CallRefusal, RecordedEvent, RequestTrace, ServerCallRecord, SpanId};
use crate::flow::FlowDecision;
use crate::{ClientInfo, Definition, ItemKind, Principal};
use proxy_json::Raw;

/// The method of a statement at the prompt of `proxy repl`, which is no method of MCP.
pub const REPL: &str = "proxy/repl";

/// A request that is over.
#[derive(Clone, Debug)]
pub struct CallRecord {
    /// Unique, and in the order of time: a UUID of version 7.
    pub id: String,
    /// The same for all rounds of a call in which a client was asked; `None` for a call without questions in its results.
    pub call: Option<String>,
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
    /// A digest of the session id, which is as good as a password while the session lasts.
    pub session: Option<Arc<str>>,
    pub peer: Option<CallPeer>,
    /// The digest of the session script that decided.
    pub policy: Option<Arc<str>>,
    pub outcome: CallOutcome,
    /// Why the proxy or its script refused the request.
    pub refusal: Option<CallRefusal>,
    /// The flow rules that applied.
    pub flow: Vec<FlowDecision>,
    /// As the client sent them.
    pub params: Option<Raw>,
    /// As the client gets it.
    pub result: Option<Raw>,
    /// The calls of servers that the request led to, in the order in which they ended.
    pub server_calls: Vec<ServerCallRecord>,
    /// How many more there were than a record holds.
    pub more_server_calls: usize,
    /// The run of the script's handler; `None` if the item is not wrapped.
    pub handler: Option<HandlerRecord>,
    /// What else happened, in the order of time.
    pub events: Vec<RecordedEvent>,
    pub replay: ReplayFacts,
    /// The kept result that the request has made or read.
    pub kept: Option<RecordedResult>,
    /// Its span, if it is traced.
    pub trace: Option<Arc<RequestTrace>>,
}

/// The run of a handler. After a question it runs again: this is from the first beginning to the last end.
#[derive(Clone, Debug)]
pub struct HandlerRecord {
    /// Where the script published the item, such as `policy.star:12`.
    pub at: Option<String>,
    pub began: SystemTime,
    pub duration: Duration,
    /// Its span, if the request is traced.
    pub span: Option<SpanId>,
}

/// What a backtest needs of a request beside its params and results.
#[derive(Clone, Debug, Default)]
pub struct ReplayFacts {
    /// The request headers that scripts see.
    pub headers: Arc<[(String, String)]>,
    /// The digest of the session, as a number. It owns the stored values of an anonymous client.
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

/// A large result whose pages are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedResult {
    pub id: String,
    /// The published tool that made it; `None` if there is no such result for the caller.
    pub tool: Option<String>,
}

/// The other end of the connection that a request came on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallPeer {
    Address(IpAddr),
    /// The user id of the process at the control socket.
    User(u32),
}

impl fmt::Display for CallPeer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallPeer::Address(address) => write!(formatter, "{address}"),
            CallPeer::User(uid) => write!(formatter, "uid {uid}"),
        }
    }
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

/// Reads every record as soon as its request is over. Called on the task of the request: it must not block.
pub trait CallReader: Send + Sync {
    fn read(&self, record: &Arc<CallRecord>);
}
