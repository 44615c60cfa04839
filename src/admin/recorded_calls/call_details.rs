//! A call with its params and results, as the control API returns it: without secrets, unless they are requested.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::call_summary::{CallSummary, ServerCallSummary, milliseconds};
use super::kept_call::{KeptCall, KeptText, MARGIN, MAX_SHOWN};
use proxy_builtins::{redacted_json, redacted_text};
use proxy_json::{Raw, valid};
use proxy_model::{RecordedEvent, RecordedEventKind};

/// The body of `GET /calls/ID`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallDetails {
    pub call: CallSummary,
    /// The digest of the session script in use.
    pub policy: Option<String>,
    /// Whether personal data and secrets were replaced in the texts.
    pub redacted: bool,
    pub params: Option<ShownText>,
    pub result: Option<ShownText>,
    /// The server calls, in the order in which they ended.
    pub server_calls: Vec<ServerCallDetails>,
    /// Other events, in chronological order.
    #[serde(default)]
    pub events: Vec<EventDetails>,
}

/// An elicitation, a log line, an exceeded rate limit, or a cache hit.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EventDetails {
    /// Milliseconds since the beginning of the call.
    pub after_ms: f64,
    /// `elicit`, `rate limited`, `cache hit`, `retry` or `log`.
    pub kind: String,
    /// The level of a log line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// The message of the elicitation, or the log line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// One server call, with its params and result.
#[derive(Debug, Serialize, Deserialize)]
pub struct ServerCallDetails {
    pub call: ServerCallSummary,
    pub params: ShownText,
    pub result: Option<ShownText>,
}

/// JSON that was sent, or the beginning of it.
#[derive(Debug, Serialize, Deserialize)]
pub struct ShownText {
    /// The size of the whole text.
    pub bytes: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<Raw>,
    /// The beginning of a text that is too long to keep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
}

impl CallDetails {
    /// Takes a while for large calls.
    pub(in crate::admin) fn of(call: &KeptCall, show_secrets: bool) -> Self {
        let shown = |text: &KeptText| ShownText::of(text, show_secrets);
        let server_calls = call.server_calls.iter().map(|call| ServerCallDetails {
            call: call.summary.clone(),
            params: shown(&call.params),
            result: call.result.as_ref().map(shown),
        });
        CallDetails {
            call: call.summary.clone(),
            policy: call.policy.clone(),
            redacted: !show_secrets,
            params: call.params.as_ref().map(shown),
            result: call.result.as_ref().map(shown),
            server_calls: server_calls.collect(),
            events: call.events.iter().map(|event| EventDetails::of(event, show_secrets)).collect(),
        }
    }
}

impl EventDetails {
    fn of(event: &EventDetails, show_secrets: bool) -> Self {
        let shown = |text: &String| if show_secrets { text.clone() } else { redacted_text(text) };
        EventDetails { text: event.text.as_ref().map(shown), ..event.clone() }
    }

    pub(super) fn of_record(event: &RecordedEvent, began: SystemTime) -> Self {
        let level = match &event.kind {
            RecordedEventKind::Logged { level, .. } => Some((*level).to_owned()),
            _ => None,
        };
        EventDetails {
            after_ms: milliseconds(event.at.duration_since(began).unwrap_or_default()),
            kind: event.kind.as_str().to_owned(),
            level,
            text: event.kind.message().map(str::to_owned),
        }
    }
}

impl ShownText {
    fn of(text: &KeptText, show_secrets: bool) -> Self {
        match text {
            KeptText::Whole(raw) if show_secrets => {
                ShownText { bytes: raw.get().len(), json: Some(Raw::clone(raw)), head: None }
            }
            KeptText::Whole(raw) => {
                ShownText { bytes: raw.get().len(), json: valid(redacted_json(raw.get())).ok(), head: None }
            }
            KeptText::Cut { head, bytes } => {
                // A secret that is cut in half is not recognized, so the end of the text is omitted.
                let (mut shown, unsure) = match show_secrets {
                    true => (head.clone(), 0),
                    false => (redacted_json(head), MARGIN),
                };
                shown.truncate(shown.floor_char_boundary(MAX_SHOWN.min(shown.len().saturating_sub(unsure))));
                ShownText { bytes: *bytes, json: None, head: Some(shown) }
            }
        }
    }
}
