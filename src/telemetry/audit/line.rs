//! The content of the lines of an audit log. The names of members are those of ToolHive's audit events where both have the
//! same thing, so that collectors can read both.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::key::AuditKey;
use crate::config::{Audit, AuditDetail};
use crate::json::{Object, Raw};
use crate::model::{
    CallOutcome, CallRecord, CallSource, ClientInfo, ItemKind, Principal, REPL, RecordedItem, RefusalReason,
    ServerCallRecord, TraceContext,
};

/// What an entry takes in memory beside its values.
const ENTRY_BYTES: usize = 1 << 10;

/// Removes personal data and secrets from the text of a value.
pub type Redact = fn(&str) -> String;

/// What becomes a line.
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
                AuditEntry::Unauthenticated { .. } => 0,
            }
    }
}

/// How much of a call is written.
pub(super) struct LineOptions {
    arguments: AuditDetail,
    results: AuditDetail,
    pub(super) key: Option<AuditKey>,
    redact: Redact,
}

impl LineOptions {
    pub(super) fn new(settings: &Audit, redact: Redact) -> Self {
        let key = settings.key.as_ref().map(AuditKey::new);
        LineOptions { arguments: settings.arguments, results: settings.results, key, redact }
    }

    /// A value in the chosen detail.
    fn shown(&self, value: Option<&str>, detail: AuditDetail) -> Map<String, Value> {
        let mut shown = Map::new();
        shown.insert("bytes".to_owned(), value.map_or(0, str::len).into());
        let parsed = || value.and_then(|value| serde_json::from_str::<Value>(value).ok());
        let member = match detail {
            AuditDetail::None => None,
            AuditDetail::Digest => {
                self.key.as_ref().zip(parsed()).map(|(key, value)| ("digest", key.digest(&value).into()))
            }
            AuditDetail::Redacted => {
                let redacted = value.and_then(|value| serde_json::from_str((self.redact)(value).as_str()).ok());
                redacted.map(|value| ("redacted", value))
            }
            AuditDetail::Full => parsed().map(|value| ("value", value)),
        };
        shown.extend(member.map(|(name, value)| (name.to_owned(), value)));
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

/// The members of a line, without those of the chain.
pub(super) fn of(entry: &AuditEntry, options: &LineOptions) -> Map<String, Value> {
    let line = match entry {
        AuditEntry::Call(record) => of_call(record, options),
        AuditEntry::Script { at, principal, item, message, fields } => json!({
            "id": Uuid::now_v7().to_string(), "at": timestamp(*at), "type": "script",
            "subject": subject(principal, None), "target": {"name": item.as_ref()},
            "message": message, "fields": fields,
        }),
        AuditEntry::Unauthenticated { at, requests, last_peer } => json!({
            "id": Uuid::now_v7().to_string(), "at": timestamp(*at), "type": "authentication", "outcome": "denied",
            "requests": requests,
            "source": {"type": "network", "value": last_peer.map(|peer| peer.to_string())},
        }),
    };
    match line {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

fn of_call(record: &CallRecord, options: &LineOptions) -> Value {
    let source = match record.source {
        CallSource::Http => "network",
        CallSource::Stdio => "stdio",
        CallSource::Control => "control",
        CallSource::Console => "console",
    };
    let mut line = json!({
        "id": record.id, "at": timestamp(record.began),
        "type": event_type(&record.method).unwrap_or_default(), "outcome": outcome(record),
        "subject": subject(&record.principal, Some(&record.client)), "source": {"type": source},
        "target": target(record), "policy": policy(record, options),
    });
    if let Some(session) = &record.session {
        line["subject"]["session"] = session.as_ref().into();
    }
    if let Some(peer) = &record.peer {
        line["source"]["value"] = peer.to_string().into();
    }
    if let Some(call) = &record.call {
        line["call"] = call.as_str().into();
    }
    let sent = record.params.as_ref().and_then(|params| Object::of(params).ok());
    let arguments = sent.as_ref().and_then(|sent| sent.get("arguments"));
    let arguments = arguments.map(|arguments| arguments.get());
    let shown = options.shown(arguments, options.arguments);
    line["arguments"] = shown.clone().into();
    let mut result = options.shown(record.result.as_ref().map(|result| result.get()), options.results);
    if record.outcome == CallOutcome::ToolError {
        result.insert("isError".to_owned(), true.into());
    }
    line["result"] = result.into();
    if let Some(error) = error(&record.outcome) {
        line["error"] = error;
    }
    line["calls"] = record.server_calls.iter().map(|call| of_server_call(call, (arguments, &shown), options)).collect();
    if record.more_server_calls > 0 {
        line["moreCalls"] = record.more_server_calls.into();
    }
    line["ms"] = milliseconds(record.duration);
    let meta = sent.as_ref().and_then(|sent| Object::of(sent.get("_meta")?).ok());
    let theirs = || meta.and_then(|meta| TraceContext::parse(&meta.string("traceparent")?)).map(|parent| parent.trace);
    if let Some(trace) = record.trace.as_ref().map(|trace| trace.id).or_else(theirs) {
        line["trace"] = trace.to_string().into();
    }
    line
}

fn subject(principal: &Principal, client: Option<&ClientInfo>) -> Value {
    let mut subject = json!({"sub": principal.sub()});
    if !principal.groups.is_empty() {
        subject["groups"] = principal.groups.iter().cloned().collect();
    }
    if !principal.issuer().is_empty() {
        subject["issuer"] = principal.issuer().into();
    }
    if principal.is_anonymous() {
        subject["anonymous"] = true.into();
    }
    let client = client.map(|client| (client.name(), client.version())).filter(|(name, _)| !name.is_empty());
    if let Some((name, version)) = client {
        subject["client"] = if version.is_empty() { name } else { format!("{name}/{version}") }.into();
    }
    subject
}

fn target(record: &CallRecord) -> Value {
    let Some(item) = &record.item else {
        let server = record.server_calls.first().map(|call| call.server.as_ref());
        let mut target = json!({"method": record.method});
        if let Some(server) = server {
            target["server"] = server.into();
        }
        return target;
    };
    let RecordedItem { kind, name, origin, definition } = item;
    let kind = if *kind == ItemKind::ResourceTemplate { ItemKind::Resource } else { *kind };
    let mut target = json!({"type": kind.noun(), "name": name});
    if let Some((server, original)) = origin {
        target["server"] = server.as_ref().into();
        target["original"] = original.as_ref().into();
    }
    if let Some(definition) = definition {
        target["definition"] = format!("sha256:{}", definition.text_digest()).into();
    }
    target
}

/// Who decided: the version of the script, and the line of it that refused.
fn policy(record: &CallRecord, options: &LineOptions) -> Value {
    let mut policy = Map::new();
    if let Some(digest) = &record.policy {
        policy.insert("digest".to_owned(), format!("sha256:{digest}").into());
    }
    if let Some(refusal) = &record.refusal {
        policy.insert("by".to_owned(), refusal.reason.as_str().into());
        policy.extend(refusal.at.as_ref().map(|at| ("at".to_owned(), at.as_str().into())));
        // The reason why arguments do not match a schema quotes them.
        let quotes = refusal.reason == RefusalReason::Schema && options.arguments != AuditDetail::Full;
        let why = if quotes { "the arguments do not match the published schema" } else { refusal.why.as_str() };
        policy.insert("why".to_owned(), why.into());
    }
    policy.into()
}

/// The outcome in ToolHive's words, and two more: `cancelled` and `asked`.
fn outcome(record: &CallRecord) -> &'static str {
    let refused = record.refusal.as_ref().map(|refusal| refusal.reason);
    let unanswered =
        |call: &ServerCallRecord| matches!(call.outcome, CallOutcome::Timeout { .. } | CallOutcome::Failed { .. });
    match (&record.outcome, refused) {
        (CallOutcome::Ok, _) => "success",
        (CallOutcome::Asked, _) => "asked",
        (CallOutcome::Cancelled, _) => "cancelled",
        (
            _,
            Some(
                RefusalReason::OnRequest
                | RefusalReason::Handler
                | RefusalReason::RateLimit
                | RefusalReason::Audit
                | RefusalReason::Policy,
            ),
        ) => "denied",
        // The request itself is wrong.
        (_, Some(RefusalReason::Schema | RefusalReason::Unknown)) => "failure",
        (CallOutcome::Timeout { .. } | CallOutcome::Failed { .. }, None) => "error",
        // The client gets an error result for a server that did not answer.
        _ if record.server_calls.last().is_some_and(unanswered) => "error",
        (CallOutcome::ToolError, None) => "application_error",
        (CallOutcome::Error { code, .. }, None) => match code {
            -32603 => "error",
            -32602..=-32600 => "failure",
            _ => "application_error",
        },
    }
}

/// The kind of an error. Its message may contain anything that the client sent, so it is not written.
fn error(outcome: &CallOutcome) -> Option<Value> {
    let kind = outcome.error_type().filter(|_| !matches!(outcome, CallOutcome::Cancelled))?;
    Some(match outcome {
        CallOutcome::Error { code, .. } => json!({"type": kind, "code": code}),
        _ => json!({"type": kind}),
    })
}

/// A call of a server. Most have the arguments of the client, as they are already shown.
fn of_server_call(
    call: &ServerCallRecord,
    (of_client, shown): (Option<&str>, &Map<String, Value>),
    options: &LineOptions,
) -> Value {
    let sent = Object::of(&call.params).ok();
    let name = sent.as_ref().and_then(|sent| sent.string("name").or_else(|| sent.string("uri")));
    let arguments = sent.as_ref().and_then(|sent| sent.get("arguments"));
    let mut line = json!({"server": call.server.as_ref(), "method": call.method, "name": name});
    line["outcome"] = match &call.outcome {
        CallOutcome::Ok => "success",
        CallOutcome::Asked => "asked",
        CallOutcome::Cancelled => "cancelled",
        CallOutcome::ToolError | CallOutcome::Error { .. } => "application_error",
        CallOutcome::Timeout { .. } | CallOutcome::Failed { .. } => "error",
    }
    .into();
    let arguments = arguments.map(|arguments| arguments.get());
    let is_of_client = arguments == of_client;
    let own = || options.shown(arguments, options.arguments);
    line["arguments"] = if is_of_client { shown.clone() } else { own() }.into();
    line["result"] = options.shown(call.result.as_ref().map(|result| result.get()), options.results).into();
    line["ms"] = milliseconds(call.duration);
    line
}

fn milliseconds(duration: Duration) -> Value {
    ((duration.as_secs_f64() * 10_000.0).round() / 10.0).into()
}

pub(super) fn timestamp_now() -> String {
    timestamp(SystemTime::now())
}

/// The time for names of files: `20260822T100000Z`.
pub(super) fn compact_timestamp_now() -> String {
    jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string()
}

fn timestamp(at: SystemTime) -> String {
    jiff::Timestamp::try_from(at).map(|at| format!("{at:.3}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::raw;
    use crate::model::{CallRefusal, RequestTrace, SpanId, TraceId};

    fn record(outcome: CallOutcome, refusal: Option<RefusalReason>) -> CallRecord {
        let refusal = refusal.map(|reason| CallRefusal { reason, at: Some("policy.star:41".into()), why: "no".into() });
        CallRecord {
            duration: Duration::from_micros(420),
            item: None,
            principal: Principal::named("ann"),
            policy: Some("00".into()),
            outcome,
            refusal,
            params: Some(raw(&json!({"name": "x", "arguments": {"to": "bob@example.com"}}))),
            ..CallRecord::example()
        }
    }

    fn error(code: i64) -> CallOutcome {
        CallOutcome::Error { code, message: String::new() }
    }

    #[test]
    fn outcomes_have_the_words_of_toolhive() {
        use RefusalReason::{Audit, Handler, OnRequest, RateLimit, Schema, Unknown};
        for (outcome_of, refusal, expected) in [
            (CallOutcome::Ok, None, "success"),
            (CallOutcome::ToolError, None, "application_error"),
            (CallOutcome::ToolError, Some(OnRequest), "denied"),
            (CallOutcome::ToolError, Some(Handler), "denied"),
            (CallOutcome::ToolError, Some(RateLimit), "denied"),
            (CallOutcome::ToolError, Some(Audit), "denied"),
            (CallOutcome::ToolError, Some(Schema), "failure"),
            (error(-32602), Some(Unknown), "failure"),
            (error(-32603), None, "error"),
            (error(-32000), None, "application_error"),
            (CallOutcome::Timeout { message: String::new() }, None, "error"),
            (CallOutcome::Cancelled, None, "cancelled"),
            (CallOutcome::Asked, None, "asked"),
        ] {
            assert_eq!(outcome(&record(outcome_of.clone(), refusal)), expected, "{outcome_of:?} {refusal:?}");
        }
    }

    #[test]
    fn values_are_written_in_the_chosen_detail() {
        let options = |arguments| LineOptions {
            arguments,
            results: AuditDetail::None,
            key: Some(AuditKey::new(&crate::model::Secret::new("k"))),
            redact: |_| "\"redacted\"".to_owned(),
        };
        let shown = |detail| of_call(&record(CallOutcome::Ok, None), &options(detail))["arguments"].clone();
        assert_eq!(shown(AuditDetail::None), json!({"bytes": 24}));
        assert_eq!(shown(AuditDetail::Redacted), json!({"bytes": 24, "redacted": "redacted"}));
        assert_eq!(shown(AuditDetail::Full), json!({"bytes": 24, "value": {"to": "bob@example.com"}}));
        let digest = shown(AuditDetail::Digest);
        assert!(
            digest["digest"].as_str().unwrap().starts_with("hmac:") && !digest.to_string().contains("bob"),
            "{digest}"
        );
    }

    #[test]
    fn a_line_says_who_decided_where() {
        let options =
            LineOptions { arguments: AuditDetail::None, results: AuditDetail::None, key: None, redact: str::to_owned };
        let line = of_call(&record(CallOutcome::ToolError, Some(RefusalReason::OnRequest)), &options);
        let policy = json!({"digest": "sha256:00", "by": "on_request", "at": "policy.star:41", "why": "no"});
        assert_eq!(
            (&line["policy"], &line["ms"], &line["at"]),
            (&policy, &json!(0.4), &json!("1970-01-01T00:00:00.000Z"))
        );
    }

    #[test]
    fn a_line_names_the_trace() {
        let options =
            LineOptions { arguments: AuditDetail::None, results: AuditDetail::None, key: None, redact: str::to_owned };
        let mut record = record(CallOutcome::Ok, None);
        let trace = |record: &CallRecord| of_call(record, &options)["trace"].clone();
        assert_eq!(trace(&record), Value::Null);
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        record.params = Some(raw(&json!({"_meta": {"traceparent": parent}})));
        assert_eq!(trace(&record), "4bf92f3577b34da6a3ce929d0e0e4736");
        record.params = Some(raw(&json!({"_meta": {"traceparent": "x-y"}})));
        assert_eq!(trace(&record), Value::Null);
        let (id, span) = (TraceId([0x11; 16]), SpanId([2; 8]));
        record.trace = Some(Arc::new(RequestTrace { id, span, parent: None, state: None, link: None }));
        assert_eq!(trace(&record), "11".repeat(16));
    }
}
