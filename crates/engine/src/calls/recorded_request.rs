//! The record of a request: begun where the request arrives, closed when it has an outcome or is dropped.

use std::sync::Arc;
use std::time::Duration;

use tracing::Level;
use uuid::Uuid;

use super::call_outcome;
use proxy_json::Raw;
use proxy_mcp_client::CallError;
use proxy_model::{CallOutcome, CallPeer, CallRecord, CallSource, ClientInfo, Principal, TraceContext};
use proxy_telemetry::traces::SentContext;
use proxy_telemetry::{CallRecording, OTHER, Telemetry};
use proxy_wire::{Id, Revision, RpcError};

/// The methods that are counted by name. A client may send any other text.
const METHODS: [&str; 19] = [
    "tools/call",
    "tools/list",
    "resources/read",
    "resources/list",
    "resources/templates/list",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/get",
    "prompts/list",
    "completion/complete",
    "logging/setLevel",
    "ping",
    "server/discover",
    "subscriptions/listen",
    "tasks/get",
    "tasks/list",
    "tasks/result",
    "tasks/cancel",
    "tasks/update",
];

/// Who makes a request, and how it is called.
#[derive(Clone, Copy)]
pub struct RequestOrigin<'a> {
    pub method: &'a str,
    /// `None` for a command.
    pub id: Option<&'a Id>,
    pub revision: Option<Revision>,
    pub params: Option<&'a Raw>,
    pub principal: &'a Principal,
    pub client: &'a Arc<ClientInfo>,
    pub source: CallSource,
    /// A digest of the session id.
    pub session: Option<&'a Arc<str>>,
    pub peer: Option<CallPeer>,
    /// The trace context of the HTTP request.
    pub ambient: Option<TraceContext>,
}

impl RequestOrigin<'_> {
    /// What the client sent about its trace.
    fn sent_context(&self) -> SentContext<'_> {
        let is_trusted = !self.principal.is_anonymous();
        SentContext { params: self.params, ambient: self.ambient, is_trusted }
    }
}

/// A request that is being answered. One that is dropped before it has an outcome was cancelled.
pub struct RecordedRequest<'a> {
    origin: RequestOrigin<'a>,
    recording: Arc<CallRecording>,
    outcome: Option<(CallOutcome, Option<Raw>)>,
}

impl<'a> RecordedRequest<'a> {
    pub fn begin(telemetry: &Arc<Telemetry>, origin: RequestOrigin<'a>) -> Self {
        let is_logged = tracing::enabled!(target: "request", Level::DEBUG, server);
        let trace = telemetry.tracer().and_then(|tracer| tracer.begin(&origin.sent_context()));
        RecordedRequest { origin, recording: CallRecording::begin(telemetry, is_logged, trace), outcome: None }
    }

    pub fn recording(&self) -> &Arc<CallRecording> {
        &self.recording
    }

    /// The outcome of a request that gets no JSON-RPC response.
    pub fn end_call(mut self, outcome: &Result<Raw, CallError>) {
        let result = outcome.as_ref().ok().filter(|_| self.recording.details().is_some());
        self.outcome = Some((call_outcome::of_call(outcome.as_ref()), result.cloned()));
    }

    /// The outcome of what is no request of MCP.
    pub fn end_as(mut self, outcome: CallOutcome) {
        self.outcome = Some((outcome, None));
    }

    /// The response of the request; `None` if it gets none.
    pub fn end(mut self, response: Option<&Result<Raw, RpcError>>) {
        self.outcome = response.map(|response| {
            let (outcome, result) = match response {
                Ok(result) => (call_outcome::of_result(result), self.recording.details().map(|_| Raw::clone(result))),
                Err(error) => (CallOutcome::Error { code: error.code(), message: error.message() }, None),
            };
            match self.recording.no_response() {
                Some(failure) if outcome.error_type().is_some() => (failure.clone(), result),
                _ => (outcome, result),
            }
        });
    }
}

impl Drop for RecordedRequest<'_> {
    fn drop(&mut self) {
        let (outcome, result) = self.outcome.take().unwrap_or((CallOutcome::Cancelled, None));
        let method = METHODS.iter().find(|known| **known == self.origin.method).copied().unwrap_or(OTHER);
        let duration = self.recording.end(method, &outcome);
        let Some(details) = self.recording.details() else { return };
        let noted = std::mem::take(&mut *details.noted.lock());
        let record = CallRecord {
            id: Uuid::now_v7().to_string(),
            call: noted.call,
            began: details.began,
            duration,
            method: if method == OTHER { self.origin.method.to_owned().into() } else { method.into() },
            request_id: self.origin.id.map(Id::text),
            protocol: self.origin.revision.map(Revision::as_str),
            item: noted.item,
            principal: self.origin.principal.clone(),
            client: Arc::clone(self.origin.client),
            source: self.origin.source,
            session: self.origin.session.cloned(),
            peer: self.origin.peer,
            policy: noted.policy,
            outcome,
            refusal: noted.refusal,
            flow: noted.flow,
            params: noted.params.or_else(|| self.origin.params.cloned()),
            result,
            server_calls: noted.server_calls,
            more_server_calls: noted.more_server_calls,
            handler: noted.handler,
            events: noted.events,
            replay: noted.replay,
            kept: noted.kept,
            trace: self.recording.trace().cloned(),
        };
        if tracing::enabled!(target: "request", Level::DEBUG, server) {
            log(&record, duration);
        }
        self.recording.telemetry().read(&Arc::new(record));
    }
}

/// One line of the log for each request, at the level `debug`.
fn log(record: &CallRecord, duration: Duration) {
    let outcome = match &record.outcome {
        CallOutcome::Ok => "ok".into(),
        CallOutcome::Asked => "asks".into(),
        CallOutcome::ToolError => "error result".into(),
        CallOutcome::Cancelled => "cancelled".into(),
        CallOutcome::Error { code, message } => format!("error {code}: {message}"),
        CallOutcome::Timeout { message } | CallOutcome::Failed { message } => message.clone(),
    };
    let (method, name) = (record.method.as_ref(), record.item.as_ref().map_or("", |item| item.name.as_str()));
    let ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let what = format!("{method} {name}");
    let what = what.trim_end();
    let by = match record.source {
        CallSource::Control => ", over the control socket",
        CallSource::Console => ", by the console",
        CallSource::Stdio | CallSource::Http => "",
    };
    match record.item.as_ref().and_then(|item| item.origin.as_ref()) {
        Some((server, _)) => {
            tracing::debug!(target: "request", %server, method, name, ms, outcome, "{what}: {outcome} in {ms} ms{by}")
        }
        None => tracing::debug!(target: "request", method, name, ms, outcome, "{what}: {outcome} in {ms} ms{by}"),
    }
}
