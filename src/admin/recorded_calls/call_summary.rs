//! The facts about a call, without params and results: an event of `GET /events`, and an element of `GET /calls`.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use proxy_builtins::redacted_text;
use proxy_model::{CallOutcome, CallRecord, ServerCallRecord};

/// The maximum length of a text that a client, a server or a script chooses, in characters.
const MAX_TEXT: usize = 1000;
/// How many server calls are listed; a script can make any number.
pub(super) const MAX_SERVER_CALLS: usize = 100;

/// A finished request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallSummary {
    pub id: String,
    /// When it began, as RFC 3339 in UTC.
    pub at: String,
    pub method: String,
    /// The published name or URI.
    pub name: Option<String>,
    /// The server behind the published item; `None` if a script defines the item.
    pub server: Option<String>,
    pub user: String,
    /// Name and version of the client; empty for commands.
    pub client: String,
    /// `stdio`, `http`, `control` or `console`.
    pub source: String,
    /// `ok`, `tool_error`, `error`, `timeout`, `failed`, `cancelled`, `asked` or `refused`.
    pub outcome: String,
    /// The message of an error.
    pub error: Option<String>,
    /// Who refused the request, where and why.
    pub refusal: Option<RefusalSummary>,
    pub ms: f64,
    /// The size of the params.
    pub bytes_in: usize,
    /// The size of the result.
    pub bytes_out: usize,
    pub server_calls: Vec<ServerCallSummary>,
    /// The number of further server calls.
    pub more_server_calls: usize,
    /// The trace id, if the request is traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

/// Why the proxy or its script refused a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RefusalSummary {
    /// `on_request`, `handler`, `schema` or `unknown`.
    pub reason: String,
    /// The line of the script, such as `policy.star:41`.
    pub at: Option<String>,
    pub why: String,
}

/// One server call.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerCallSummary {
    pub server: String,
    pub method: String,
    pub outcome: String,
    pub error: Option<String>,
    /// Milliseconds between the beginning of the request and the beginning of this call.
    #[serde(default)]
    pub after_ms: f64,
    pub ms: f64,
}

impl CallSummary {
    pub(super) fn of(record: &CallRecord) -> Self {
        let item = record.item.as_ref();
        let size = |text: Option<&proxy_json::Raw>| text.map_or(0, |text| text.get().len());
        CallSummary {
            id: record.id.clone(),
            at: time(record.began),
            method: short(&record.method),
            name: item.map(|item| short(&item.name)),
            server: item.and_then(|item| item.origin.as_ref()).map(|(server, _)| server.to_string()),
            user: short(record.principal.sub()),
            client: short(format!("{} {}", record.client.name(), record.client.version()).trim()),
            source: record.source.as_str().to_owned(),
            outcome: if record.refusal.is_some() { "refused" } else { word(&record.outcome) }.to_owned(),
            error: record.outcome.message().map(shown),
            refusal: record.refusal.as_ref().map(|refusal| RefusalSummary {
                reason: refusal.reason.as_str().to_owned(),
                at: refusal.at.as_deref().map(short),
                why: shown(&refusal.why),
            }),
            ms: milliseconds(record.duration),
            bytes_in: size(record.params.as_ref()),
            bytes_out: size(record.result.as_ref()),
            server_calls: record
                .server_calls
                .iter()
                .take(MAX_SERVER_CALLS)
                .map(|call| ServerCallSummary::of(call, record.began))
                .collect(),
            more_server_calls: record.more_server_calls + record.server_calls.len().saturating_sub(MAX_SERVER_CALLS),
            trace: record.trace.as_ref().map(|trace| trace.id.to_string()),
        }
    }

    /// Its approximate size in memory, in bytes.
    pub(super) fn size(&self) -> usize {
        let texts = [&self.name, &self.error].into_iter().flatten().map(String::len).sum::<usize>();
        let refusal = self.refusal.as_ref().map_or(0, |refusal| refusal.why.len());
        let calls: usize = self.server_calls.iter().map(|call| 200 + call.error.as_ref().map_or(0, String::len)).sum();
        500 + texts + refusal + calls
    }
}

impl ServerCallSummary {
    pub(super) fn of(call: &ServerCallRecord, began: SystemTime) -> Self {
        ServerCallSummary {
            server: call.server.to_string(),
            method: short(&call.method),
            outcome: word(&call.outcome).to_owned(),
            error: call.outcome.message().map(shown),
            after_ms: milliseconds(call.began.duration_since(began).unwrap_or_default()),
            ms: milliseconds(call.duration),
        }
    }
}

/// How a request ended, in one word.
fn word(outcome: &CallOutcome) -> &'static str {
    match outcome {
        CallOutcome::Ok => "ok",
        CallOutcome::ToolError => "tool_error",
        CallOutcome::Error { .. } => "error",
        CallOutcome::Timeout { .. } => "timeout",
        CallOutcome::Failed { .. } => "failed",
        CallOutcome::Cancelled => "cancelled",
        CallOutcome::Asked => "asked",
    }
}

fn time(at: SystemTime) -> String {
    Timestamp::try_from(at).map(|at| format!("{at:.3}")).unwrap_or_default()
}

/// Rounded to hundredths.
pub(super) fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 100_000.0).round() / 100.0
}

/// A message that may quote params or results, without personal data and secrets.
fn shown(text: &str) -> String {
    short(&redacted_text(&short(text)))
}

fn short(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
