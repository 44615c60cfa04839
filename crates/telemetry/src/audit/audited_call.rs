//! The line about a call.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use super::line::{LineOptions, event_type, timestamp};
use proxy_config::AuditDetail;
use proxy_json::Object;
use proxy_model::flow::FlowDecision;
use proxy_model::{
    CallOutcome, CallRecord, CallRefusal, CallSource, ClientInfo, ItemKind, Principal, RecordedItem, RefusalReason,
    ServerCallRecord, TraceContext,
};

#[derive(Serialize)]
pub(super) struct AuditedCall<'a> {
    id: &'a str,
    at: String,
    #[serde(rename = "type")]
    event: &'static str,
    outcome: &'static str,
    subject: AuditSubject<'a>,
    source: AuditSource,
    target: AuditTarget<'a>,
    policy: DecidedBy<'a>,
    /// The flow rules that applied, with the marks that decided.
    #[serde(skip_serializing_if = "<[FlowDecision]>::is_empty")]
    flow: &'a [FlowDecision],
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<&'a str>,
    arguments: ShownValue,
    result: ShownValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
    calls: Vec<AuditedServerCall<'a>>,
    #[serde(rename = "moreCalls", skip_serializing_if = "Option::is_none")]
    more_calls: Option<usize>,
    ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<String>,
}

impl<'a> AuditedCall<'a> {
    pub(super) fn of(record: &'a CallRecord, options: &LineOptions) -> Self {
        let kind = match record.source {
            CallSource::Http => "network",
            CallSource::Stdio => "stdio",
            CallSource::Control => "control",
            CallSource::Console => "console",
        };
        let sent = record.params.as_ref().and_then(|params| Object::of(params).ok());
        let arguments = sent.as_ref().and_then(|sent| sent.get("arguments")).map(|arguments| arguments.get());
        let shown = options.shown(arguments, options.arguments);
        let result = options.shown(record.result.as_ref().map(|result| result.get()), options.results);
        let meta = sent.as_ref().and_then(|sent| Object::of(sent.get("_meta")?).ok());
        let theirs =
            || meta.and_then(|meta| TraceContext::parse(&meta.string("traceparent")?)).map(|parent| parent.trace);
        AuditedCall {
            id: &record.id,
            at: timestamp(record.began),
            event: event_type(&record.method).unwrap_or_default(),
            outcome: outcome(record),
            subject: AuditSubject::of(&record.principal, Some(&record.client), record.session.as_deref()),
            source: AuditSource { kind, value: record.peer.as_ref().map(ToString::to_string) },
            target: AuditTarget::of(record),
            policy: DecidedBy::of(record, options),
            flow: &record.flow,
            call: record.call.as_deref(),
            calls: record
                .server_calls
                .iter()
                .map(|call| AuditedServerCall::of(call, (arguments, &shown), options))
                .collect(),
            arguments: shown,
            result: ShownValue { is_error: record.outcome == CallOutcome::ToolError, ..result },
            error: error(&record.outcome),
            more_calls: Some(record.more_server_calls).filter(|more| *more > 0),
            ms: milliseconds(record.duration),
            trace: record.trace.as_ref().map(|trace| trace.id).or_else(theirs).map(|trace| trace.to_string()),
        }
    }
}

#[derive(Serialize)]
struct AuditSource {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
}

/// Who called.
#[derive(Serialize)]
pub(super) struct AuditSubject<'a> {
    sub: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    groups: &'a [String],
    #[serde(skip_serializing_if = "str::is_empty")]
    issuer: &'a str,
    #[serde(skip_serializing_if = "is_false")]
    anonymous: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    profile: &'a str,
    /// Name and version.
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
}

impl<'a> AuditSubject<'a> {
    pub(super) fn of(principal: &'a Principal, client: Option<&ClientInfo>, session: Option<&'a str>) -> Self {
        let client = client.map(|client| (client.name(), client.version())).filter(|(name, _)| !name.is_empty());
        AuditSubject {
            sub: principal.sub(),
            groups: &principal.groups,
            issuer: principal.issuer(),
            anonymous: principal.is_anonymous(),
            profile: principal.profile_name(),
            client: client.map(|(name, version)| if version.is_empty() { name } else { format!("{name}/{version}") }),
            session,
        }
    }
}

/// The target of a call: an item, or a method without an item.
#[derive(Serialize)]
#[serde(untagged)]
enum AuditTarget<'a> {
    Method {
        method: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        server: Option<&'a str>,
    },
    Item {
        #[serde(rename = "type")]
        kind: &'static str,
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        server: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        original: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        definition: Option<String>,
        /// The id of the kept result that was made or read.
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<&'a str>,
        /// The tool that made a result that was read.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool: Option<&'a str>,
    },
}

impl<'a> AuditTarget<'a> {
    fn of(record: &'a CallRecord) -> Self {
        let Some(RecordedItem { kind, name, origin, definition }) = &record.item else {
            let server = record.server_calls.first().map(|call| call.server.as_ref());
            return AuditTarget::Method { method: &record.method, server };
        };
        let kind = if *kind == ItemKind::ResourceTemplate { ItemKind::Resource } else { *kind };
        AuditTarget::Item {
            kind: kind.noun(),
            name,
            server: origin.as_ref().map(|(server, _)| server.as_ref()),
            original: origin.as_ref().map(|(_, original)| original.as_ref()),
            definition: definition.as_ref().map(|definition| format!("sha256:{}", definition.text_digest())),
            result: record.kept.as_ref().map(|kept| kept.id.as_str()),
            tool: record.kept.as_ref().and_then(|kept| kept.tool.as_deref()).filter(|tool| tool != name),
        }
    }
}

/// Who decided: the version of the script, and the line of it that refused.
#[derive(Serialize)]
pub(super) struct DecidedBy<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
}

impl<'a> DecidedBy<'a> {
    /// `policy` is the digest of the script with its settings.
    pub(super) fn new(policy: Option<&str>, refusal: Option<&'a CallRefusal>) -> Self {
        DecidedBy {
            digest: policy.map(|digest| format!("sha256:{digest}")),
            by: refusal.map(|refusal| refusal.reason.as_str()),
            at: refusal.and_then(|refusal| refusal.at.as_deref()),
            why: refusal.map(|refusal| refusal.why.as_str()),
        }
    }

    fn of(record: &'a CallRecord, options: &LineOptions) -> Self {
        let refusal = record.refusal.as_ref();
        // The reason why arguments do not match a schema quotes them.
        let quotes =
            |refusal: &CallRefusal| refusal.reason == RefusalReason::Schema && options.arguments != AuditDetail::Full;
        let why = |refusal: &'a CallRefusal| {
            if quotes(refusal) { "the arguments do not match the published schema" } else { refusal.why.as_str() }
        };
        DecidedBy { why: refusal.map(why), ..DecidedBy::new(record.policy.as_deref(), refusal) }
    }
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
                | RefusalReason::Declined
                | RefusalReason::Audit
                | RefusalReason::Policy
                | RefusalReason::Scope
                | RefusalReason::Lock
                | RefusalReason::Flow,
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

/// A call of a server.
#[derive(Serialize)]
struct AuditedServerCall<'a> {
    server: &'a str,
    method: &'a str,
    name: Option<String>,
    outcome: &'static str,
    arguments: ShownValue,
    result: ShownValue,
    ms: f64,
}

impl<'a> AuditedServerCall<'a> {
    /// Most have the arguments of the client, as they are already shown.
    fn of(call: &'a ServerCallRecord, client: (Option<&str>, &ShownValue), options: &LineOptions) -> Self {
        let (of_client, shown) = client;
        let sent = Object::of(&call.params).ok();
        let arguments = sent.as_ref().and_then(|sent| sent.get("arguments")).map(|arguments| arguments.get());
        AuditedServerCall {
            server: &call.server,
            method: &call.method,
            name: sent.as_ref().and_then(|sent| sent.string("name").or_else(|| sent.string("uri"))),
            outcome: match &call.outcome {
                CallOutcome::Ok => "success",
                CallOutcome::Asked => "asked",
                CallOutcome::Cancelled => "cancelled",
                CallOutcome::ToolError | CallOutcome::Error { .. } => "application_error",
                CallOutcome::Timeout { .. } | CallOutcome::Failed { .. } => "error",
            },
            arguments: match arguments == of_client {
                true => shown.clone(),
                false => options.shown(arguments, options.arguments),
            },
            result: options.shown(call.result.as_ref().map(|result| result.get()), options.results),
            ms: milliseconds(call.duration),
        }
    }
}

fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 10_000.0).round() / 10.0
}

/// What is written of arguments or of a result.
#[derive(Clone, Default, Serialize)]
pub(super) struct ShownValue {
    pub(super) bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) redacted: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<Value>,
    #[serde(rename = "isError", skip_serializing_if = "is_false")]
    pub(super) is_error: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::audit::key::AuditKey;
    use proxy_json::raw;
    use proxy_model::{RequestTrace, SpanId, TraceId};

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

    fn of_call(record: &CallRecord, options: &LineOptions) -> Value {
        serde_json::to_value(AuditedCall::of(record, options)).unwrap()
    }

    fn error(code: i64) -> CallOutcome {
        CallOutcome::Error { code, message: String::new() }
    }

    #[test]
    fn outcomes_have_the_words_of_toolhive() {
        use RefusalReason::{Audit, Handler, OnRequest, RateLimit, Schema, Scope, Unknown};
        for (outcome_of, refusal, expected) in [
            (CallOutcome::Ok, None, "success"),
            (CallOutcome::ToolError, None, "application_error"),
            (CallOutcome::ToolError, Some(OnRequest), "denied"),
            (CallOutcome::ToolError, Some(Handler), "denied"),
            (CallOutcome::ToolError, Some(RateLimit), "denied"),
            (CallOutcome::ToolError, Some(Audit), "denied"),
            (error(-32600), Some(Scope), "denied"),
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
            key: Some(AuditKey::new(&proxy_model::Secret::new("k"))),
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
