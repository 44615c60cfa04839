//! The content of audit log lines. Members that also exist in ToolHive's audit events have the same names, so that
//! collectors can read both.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

use serde::Serialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::audited_call::{AuditSubject, AuditedCall, ShownValue};
use super::key::AuditKey;
use super::server_question::ServerQuestion;
use proxy_config::{Audit, AuditDetail};
use proxy_json::Raw;
use proxy_model::{CallPeer, CallRecord, Principal, REPL, RecordedEvent, RecordedEventKind};

/// What an entry takes in memory beside its values.
const ENTRY_BYTES: usize = 1 << 10;

/// Removes personal data and secrets from the text of a value.
pub type Redact = fn(&str) -> String;

/// What happened to a person's own account at a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountEvent {
    Connected,
    Disconnected,
    /// The person came back from the authorization server without a log-in.
    Refused,
}

impl AccountEvent {
    fn line_type(self) -> &'static str {
        match self {
            AccountEvent::Connected => "account_connected",
            AccountEvent::Disconnected => "account_disconnected",
            AccountEvent::Refused => "account_refused",
        }
    }
}

/// An entry that becomes one line.
pub enum AuditEntry {
    Call(Arc<CallRecord>),
    /// `log(level = "audit")` in a handler.
    Script {
        at: SystemTime,
        principal: Box<Principal>,
        item: Arc<str>,
        message: String,
        fields: Map<String, Value>,
    },
    /// One event of a call, by index: a question or its answer.
    Event(Arc<CallRecord>, usize),
    /// What a version of the session script publishes.
    Surface(PublishedSurface),
    /// A person's own account at a server.
    Account {
        at: SystemTime,
        event: AccountEvent,
        principal: Box<Principal>,
        server: String,
        /// Why it was refused.
        reason: Option<String>,
        /// The operator, if it was not the person.
        by: Option<CallPeer>,
    },
    /// The operator has ended sessions: all of a user, or one.
    SessionsEnded {
        at: SystemTime,
        principal: Option<Box<Principal>>,
        session: Option<String>,
        /// How many of them this process served.
        ended: usize,
        by: Option<CallPeer>,
    },
    /// A question that a server asked while no call ran, if flow rules applied to it.
    ServerQuestion(Box<ServerQuestion>),
    /// Requests without a valid token, since the last such entry.
    Unauthenticated {
        at: SystemTime,
        requests: u64,
        last_peer: Option<IpAddr>,
    },
}

impl AuditEntry {
    /// An estimate of the memory that the entry takes.
    pub(super) fn bytes(&self) -> usize {
        let of = |value: Option<&Raw>| value.map_or(0, |value| value.get().len());
        ENTRY_BYTES
            + match self {
                AuditEntry::Call(record) => {
                    let calls = record.server_calls.iter();
                    of(record.params.as_ref())
                        + of(record.result.as_ref())
                        + calls
                            .map(|call| ENTRY_BYTES + call.params.get().len() + of(call.result.as_ref()))
                            .sum::<usize>()
                }
                AuditEntry::Script { message, fields, .. } => {
                    message.len() + Value::Object(fields.clone()).to_string().len()
                }
                AuditEntry::Account { reason, .. } => reason.as_ref().map_or(0, String::len),
                AuditEntry::Event(..)
                | AuditEntry::Surface(_)
                | AuditEntry::ServerQuestion(_)
                | AuditEntry::SessionsEnded { .. }
                | AuditEntry::Unauthenticated { .. } => 0,
            }
    }
}

/// What one run of the session script publishes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PublishedSurface {
    /// The digest of the script with its settings.
    pub policy: Arc<str>,
    /// The digest of everything that is published.
    pub lists: String,
    /// How many items of each kind.
    pub counts: [(&'static str, usize); 4],
}

impl PublishedSurface {
    fn line(&self) -> Value {
        let counts: Map<String, Value> =
            self.counts.iter().map(|(kind, count)| ((*kind).to_owned(), json!(count))).collect();
        json!({
            "id": Uuid::now_v7().to_string(), "at": timestamp_now(), "type": "surface",
            "policy": {"digest": format!("sha256:{}", self.policy)}, "lists": format!("sha256:{}", self.lists),
            "published": counts,
        })
    }
}

/// The line about a question or an answer, with the id of the call.
fn event_line(record: &CallRecord, event: &RecordedEvent, options: &LineOptions) -> Value {
    let mut line = json!({
        "id": Uuid::now_v7().to_string(), "at": timestamp(event.at),
        "type": if matches!(event.kind, RecordedEventKind::Answered { .. }) { "answer" } else { "elicitation" },
        "call": record.call.as_ref().unwrap_or(&record.id),
        "subject": AuditSubject::of(&record.principal, Some(&record.client), record.session.as_deref()),
        "target": {"name": record.item.as_ref().map(|item| item.name.as_str())},
    });
    // Questions quote arguments, and answers are as private.
    match &event.kind {
        RecordedEventKind::Answered { action, content } => {
            line["action"] = json!(action);
            line["content"] = json!(options.shown(content.as_deref(), options.arguments));
        }
        kind => {
            let message = kind.message().map(|message| Value::from(message).to_string());
            line["message"] = json!(options.shown(message.as_deref(), options.arguments));
        }
    }
    line
}

/// How much of a call is written.
pub(super) struct LineOptions {
    pub(super) arguments: AuditDetail,
    pub(super) results: AuditDetail,
    pub(super) key: Option<AuditKey>,
    pub(super) redact: Redact,
}

impl LineOptions {
    pub(super) fn new(settings: &Audit, redact: Redact) -> Self {
        let key = settings.key.as_ref().map(AuditKey::new);
        LineOptions { arguments: settings.arguments, results: settings.results, key, redact }
    }

    /// A value in the chosen detail.
    pub(super) fn shown(&self, value: Option<&str>, detail: AuditDetail) -> ShownValue {
        let mut shown = ShownValue { bytes: value.map_or(0, str::len), ..ShownValue::default() };
        let parsed = || value.and_then(|value| serde_json::from_str::<Value>(value).ok());
        match detail {
            AuditDetail::None => {}
            AuditDetail::Digest => {
                shown.digest = self.key.as_ref().zip(parsed()).map(|(key, value)| key.digest(&value));
            }
            AuditDetail::Redacted => {
                shown.redacted = value.and_then(|value| serde_json::from_str((self.redact)(value).as_str()).ok());
            }
            AuditDetail::Full => shown.value = parsed(),
        }
        shown
    }
}

/// The type of the line about a request; `None` for requests that are not audited.
pub(super) fn event_type(method: &str) -> Option<&'static str> {
    Some(match method {
        "tools/call" => "mcp_tool_call",
        "resources/read" => "mcp_resource_read",
        "prompts/get" => "mcp_prompt_get",
        REPL => "operator_repl",
        _ if method.starts_with("tasks/") => "mcp_task",
        _ => return None,
    })
}

/// The members of a line, without those of the chain. Lines about calls are written member by member: there are many.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum LineContent<'a> {
    Call(Box<AuditedCall<'a>>),
    Other(Value),
}

pub(super) fn of<'a>(entry: &'a AuditEntry, options: &LineOptions) -> LineContent<'a> {
    LineContent::Other(match entry {
        AuditEntry::Call(record) => return LineContent::Call(Box::new(AuditedCall::of(record, options))),
        AuditEntry::Script { at, principal, item, message, fields } => json!({
            "id": Uuid::now_v7().to_string(), "at": timestamp(*at), "type": "script",
            "subject": AuditSubject::of(principal, None, None), "target": {"name": item.as_ref()},
            "message": message, "fields": fields,
        }),
        AuditEntry::Event(record, index) => match record.events.get(*index) {
            Some(event) => event_line(record, event, options),
            None => Value::Object(Map::new()),
        },
        AuditEntry::Account { at, event, principal, server, reason, by } => by_operator(
            json!({
                "id": Uuid::now_v7().to_string(), "at": timestamp(*at), "type": event.line_type(),
                "subject": AuditSubject::of(principal, None, None), "target": {"server": server}, "reason": reason,
            }),
            by.as_ref(),
        ),
        AuditEntry::SessionsEnded { at, principal, session, ended, by } => {
            let subject = principal.as_ref().map(|principal| AuditSubject::of(principal, None, None));
            let line = json!({
                "id": Uuid::now_v7().to_string(), "at": timestamp(*at), "type": "operator_sessions_end",
                "subject": subject, "target": {"session": session}, "ended": ended,
            });
            by_operator(line, by.as_ref())
        }
        AuditEntry::Surface(surface) => surface.line(),
        AuditEntry::ServerQuestion(question) => question.line(),
        AuditEntry::Unauthenticated { at, requests, last_peer } => json!({
            "id": Uuid::now_v7().to_string(), "at": timestamp(*at), "type": "authentication", "outcome": "denied",
            "requests": requests,
            "source": {"type": "network", "value": last_peer.map(|peer| peer.to_string())},
        }),
    })
}

/// A line with the operator as its source, if it is about what an operator did.
fn by_operator(mut line: Value, by: Option<&CallPeer>) -> Value {
    if let Some(by) = by {
        line["source"] = json!({"type": "control", "value": by.to_string()});
    }
    line
}

pub(super) fn timestamp_now() -> String {
    timestamp(SystemTime::now())
}

/// The time for names of files: `20260822T100000Z`.
pub(super) fn compact_timestamp_now() -> String {
    jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string()
}

pub(super) fn timestamp(at: SystemTime) -> String {
    jiff::Timestamp::try_from(at).map(|at| format!("{at:.3}")).unwrap_or_default()
}
