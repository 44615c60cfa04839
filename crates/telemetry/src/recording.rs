//! The record of a request while it runs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use uuid::Uuid;

use super::counted::Telemetry;
use super::operations::OperationStats;
use proxy_json::{Object, Raw, RawRef};
use proxy_model::flow::FlowDecision;
use proxy_model::{
    CallOutcome, CallRefusal, HandlerRecord, RecordedEvent, RecordedEventKind, RecordedItem, RecordedResult,
    RefusalReason, ReplayFacts, RequestTrace, ServerCallRecord, SpanId,
};

/// The maximum number of server calls in one record. A handler may make any number of calls, and their texts stay in memory
/// until the request has ended.
const MAX_SERVER_CALLS: usize = 1000;
/// The maximum size of what was sent with them.
const MAX_SERVER_BYTES: usize = 16 << 20;

/// The maximum number of events in one record, and of bytes of a text in one of them.
const MAX_EVENTS: usize = 200;
const MAX_EVENT_TEXT: usize = 2000;
/// The size of an answer that is kept whole, in bytes.
const MAX_ANSWER: usize = 64 << 10;

/// The recording of a running request. The tasks and handlers that work for it add to it.
pub struct CallRecording {
    telemetry: Arc<Telemetry>,
    began: Instant,
    /// The time in which servers were called, in nanoseconds.
    in_servers: AtomicU64,
    /// Whether a rate limit was exceeded.
    limited: AtomicBool,
    /// Whether the user did not accept the script's last elicitation, and no server has been called since.
    declined: AtomicBool,
    /// Whether the request was refused.
    refused: AtomicBool,
    /// Why a call that the script made for the client was refused. The script may still answer the request differently.
    inner_refusal: Mutex<Option<Box<CallRefusal>>>,
    /// How the request failed, if its server did not respond. The client gets an error result instead.
    no_response: OnceLock<CallOutcome>,
    /// Where the request is counted; set if it is about a published item.
    stats: OnceLock<Arc<OperationStats>>,
    /// `None` if the request is not traced.
    trace: Option<Arc<RequestTrace>>,
    /// `None` unless a reader, a trace or the debug log wants a record.
    details: Option<Box<Details>>,
    /// The request in which the call continues, after this one ended with a question (`input_required`).
    continued_in: OnceLock<Arc<CallRecording>>,
}

/// What is noted only if somebody reads records.
pub struct Details {
    pub began: SystemTime,
    pub noted: Mutex<NotedDetails>,
}

#[derive(Clone, Debug, Default)]
pub struct NotedDetails {
    /// The id that all rounds of the call share.
    pub call: Option<String>,
    pub item: Option<RecordedItem>,
    /// The params under published names, if the client sent others.
    pub params: Option<Raw>,
    pub policy: Option<Arc<str>>,
    pub refusal: Option<CallRefusal>,
    pub flow: Vec<FlowDecision>,
    pub server_calls: Vec<ServerCallRecord>,
    /// The size of what was sent with them.
    server_bytes: usize,
    /// How many more there were.
    pub more_server_calls: usize,
    pub handler: Option<HandlerRecord>,
    pub events: Vec<RecordedEvent>,
    pub replay: ReplayFacts,
    /// The kept result that the request has made or read.
    pub kept: Option<RecordedResult>,
}

impl NotedDetails {
    fn add(&mut self, call: ServerCallRecord) {
        let bytes = call.params.get().len() + call.result.as_ref().map_or(0, |result| result.get().len());
        if self.server_calls.len() >= MAX_SERVER_CALLS || self.server_bytes + bytes > MAX_SERVER_BYTES {
            self.more_server_calls += 1;
            return;
        }
        if self.server_calls.last().is_some_and(|last| is_retry(last, &call)) {
            self.happened_at(call.began, RecordedEventKind::Retry);
        }
        self.server_bytes += bytes;
        self.server_calls.push(call);
    }

    fn happened(&mut self, kind: RecordedEventKind) {
        self.happened_at(SystemTime::now(), kind);
    }

    fn happened_at(&mut self, at: SystemTime, kind: RecordedEventKind) {
        // Neither a question nor its answer gets lost among other events.
        let is_of_question = matches!(kind, RecordedEventKind::Asked { .. } | RecordedEventKind::Answered { .. });
        let most = if is_of_question { 2 * MAX_EVENTS } else { MAX_EVENTS };
        if self.events.len() < most {
            self.events.push(RecordedEvent { at, kind });
        }
    }
}

impl CallRecording {
    /// `detailed` even if nobody reads records: the log may want them.
    pub fn begin(telemetry: &Arc<Telemetry>, detailed: bool, trace: Option<Arc<RequestTrace>>) -> Arc<Self> {
        let details = (detailed || trace.is_some() || telemetry.has_readers())
            .then(|| Box::new(Details { began: SystemTime::now(), noted: Mutex::default() }));
        Arc::new(CallRecording {
            telemetry: Arc::clone(telemetry),
            began: Instant::now(),
            in_servers: AtomicU64::new(0),
            limited: AtomicBool::new(false),
            declined: AtomicBool::new(false),
            refused: AtomicBool::new(false),
            inner_refusal: Mutex::default(),
            no_response: OnceLock::new(),
            stats: OnceLock::new(),
            trace,
            details,
            continued_in: OnceLock::new(),
        })
    }

    /// The call continues in another request, which records everything from now on.
    pub fn continue_in(&self, next: &Arc<CallRecording>) {
        // Every round has one next round.
        let _ = self.continued_in.set(Arc::clone(next));
    }

    /// The request that carries the call now.
    fn current(&self) -> &CallRecording {
        let mut current = self;
        while let Some(next) = current.continued_in.get() {
            current = next;
        }
        current
    }

    /// The id that the rounds of the call share; a new one in the first round. `None` if nobody reads records.
    pub fn call_id(&self) -> Option<String> {
        let mut noted = self.details()?.noted.lock();
        Some(noted.call.get_or_insert_with(|| Uuid::now_v7().to_string()).clone())
    }

    /// This is a later round of a call.
    pub fn set_call_id(&self, call: Option<String>) {
        self.note(|noted| noted.call = call);
    }

    pub fn telemetry(&self) -> &Arc<Telemetry> {
        &self.telemetry
    }

    pub fn trace(&self) -> Option<&Arc<RequestTrace>> {
        self.trace.as_ref()
    }

    pub fn details(&self) -> Option<&Details> {
        self.details.as_deref()
    }

    /// Notes something if somebody reads records.
    pub fn note(&self, note: impl FnOnce(&mut NotedDetails)) {
        if let Some(details) = &self.current().details {
            note(&mut details.noted.lock());
        }
    }

    /// Notes that something happened, if somebody reads records.
    pub fn happened(&self, kind: impl FnOnce() -> RecordedEventKind) {
        self.note(|noted| noted.happened(kind()));
    }

    /// Notes a question to the client.
    pub fn asked(&self, message: &str) {
        self.happened(|| RecordedEventKind::Asked { message: cut(message) });
    }

    /// Notes the answer to a question; `None` if there was none. What a model or a list of folders says is no action.
    pub fn answered(&self, answer: Option<&RawRef>) {
        self.happened(|| {
            let is_there = answer.is_some();
            let answer = answer.and_then(|answer| Object::of(answer).ok());
            let action = answer.as_ref().and_then(|answer| answer.string("action"));
            let action = match action.as_deref() {
                Some(action @ ("accept" | "decline" | "cancel")) => action.to_owned(),
                None if is_there => "answer".to_owned(),
                _ => "fail".to_owned(),
            };
            let content = answer.as_ref().and_then(|answer| answer.get("content"));
            let content = content.map(|content| match content.get() {
                content if content.len() <= MAX_ANSWER => content.to_owned(),
                content => format!("\"{} bytes\"", content.len()),
            });
            RecordedEventKind::Answered { action, content }
        });
    }

    /// Notes a line that the script logs.
    pub fn logged(&self, level: &'static str, message: &str) {
        self.happened(|| RecordedEventKind::Logged { level, message: cut(message) });
    }

    /// Notes a run of the script's handler that ends now. `at` is where the item was published.
    pub fn handled(&self, began: Instant, at: impl FnOnce() -> Option<String>) {
        let duration = began.elapsed();
        let span = self.trace.as_ref().and_then(|_| SpanId::random());
        self.note(|noted| {
            let ended = SystemTime::now();
            let began = ended.checked_sub(duration).unwrap_or(ended);
            let run = noted.handler.get_or_insert_with(|| HandlerRecord { at: at(), began, duration, span });
            run.duration = ended.duration_since(run.began).unwrap_or(duration);
        });
    }

    /// The published item that the request is about.
    pub fn set_item(&self, stats: &Arc<OperationStats>) {
        let _ = self.stats.set(Arc::clone(stats));
    }

    /// Notes a call of a server.
    pub fn server_called(&self, duration: Duration, record: Option<ServerCallRecord>) {
        self.in_servers.fetch_add(nanoseconds(duration), Relaxed);
        self.declined.store(false, Relaxed);
        if let Some(record) = record {
            self.note(|noted| noted.add(record));
        }
    }

    /// Notes that the proxy or its script refuses the request.
    pub fn refused(&self, reason: RefusalReason, at: impl FnOnce() -> Option<String>, why: &str) {
        let by_script = matches!(reason, RefusalReason::OnRequest | RefusalReason::Handler);
        let is_limit = by_script && self.limited.load(Relaxed);
        let reason = if is_limit { RefusalReason::RateLimit } else { reason };
        self.refused.store(true, Relaxed);
        self.telemetry.count_refusal(reason);
        self.note(|noted| noted.refusal = Some(CallRefusal { reason, at: at(), why: why.to_owned() }));
    }

    /// Notes that a call by the script was refused. The last refusal counts.
    pub fn inner_refused(&self, refusal: CallRefusal) {
        *self.inner_refusal.lock() = Some(Box::new(refusal));
    }

    /// The request has failed. If nothing else refused it, the refusal is attributed to the script, or else to whatever
    /// refused the script's own call. `text` is the result's text.
    pub fn failed(&self, text: impl FnOnce() -> String) {
        if self.refused.load(Relaxed) {
            return;
        }
        if let Some(reason) = self.refusal_of_script() {
            self.refused(reason, || None, &text());
        } else if let Some(inner) = self.inner_refusal.lock().take() {
            let CallRefusal { reason, at, why } = *inner;
            self.refused(reason, || at, &why);
        }
    }

    /// Notes that the server did not respond.
    pub fn set_no_response(&self, outcome: CallOutcome) {
        let _ = self.current().no_response.set(outcome);
    }

    pub fn no_response(&self) -> Option<&CallOutcome> {
        self.no_response.get()
    }

    /// Notes that the script asked for a token of a rate limit, and there was none.
    pub fn rate_limited(&self) {
        self.limited.store(true, Relaxed);
        self.happened(|| RecordedEventKind::RateLimited);
    }

    /// Notes whether the user accepted the script's last elicitation.
    pub fn accepted(&self, is_accepted: bool) {
        self.declined.store(!is_accepted, Relaxed);
    }

    /// Why an error result is the script's refusal: after a rate limit was exceeded, or a question not accepted.
    fn refusal_of_script(&self) -> Option<RefusalReason> {
        if self.limited.load(Relaxed) {
            Some(RefusalReason::RateLimit)
        } else {
            self.declined.load(Relaxed).then_some(RefusalReason::Declined)
        }
    }

    /// Notes an error of the script, which is not a refusal.
    pub fn script_failed(&self) {
        if let Some(stats) = self.stats.get() {
            stats.script_failed();
        }
    }

    /// Counts the request, which is over.
    pub fn end(&self, method: &'static str, outcome: &CallOutcome) -> Duration {
        let duration = self.began.elapsed();
        let in_servers = self.in_servers.load(Relaxed);
        if let Some(stats) = self.stats.get() {
            stats.record(duration, outcome.error_type());
            // Calls at the same time may add up to more than the whole.
            self.telemetry.overhead.record(duration.saturating_sub(Duration::from_nanos(in_servers)));
        } else {
            self.telemetry.operation(method, None).record(duration, outcome.error_type());
        }
        duration
    }
}

impl std::fmt::Debug for CallRecording {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("CallRecording")
    }
}

/// Whether a call repeats the previous one, which failed. `_meta` is ignored, because it contains the span of each call.
fn is_retry(before: &ServerCallRecord, call: &ServerCallRecord) -> bool {
    if before.outcome.error_type().is_none() || (&before.server, &before.method) != (&call.server, &call.method) {
        return false;
    }
    let (Ok(one), Ok(other)) = (Object::of(&before.params), Object::of(&call.params)) else { return false };
    let is_same = |member| one.get(member).map(|value| value.get()) == other.get(member).map(|value| value.get());
    ["name", "uri", "arguments"].into_iter().all(is_same)
}

/// The beginning of a long text.
fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(MAX_EVENT_TEXT)].to_owned()
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proxy_json::valid;

    fn call(bytes: usize) -> ServerCallRecord {
        ServerCallRecord {
            server: "s".into(),
            method: "tools/call".into(),
            began: SystemTime::UNIX_EPOCH,
            duration: Duration::ZERO,
            params: valid(format!(r#"{{"name":"{}"}}"#, "x".repeat(bytes))).unwrap(),
            result: None,
            outcome: CallOutcome::Ok,
            is_local: false,
            address: None,
            span: None,
        }
    }

    #[test]
    fn a_call_that_failed_and_is_made_again_is_a_retry() {
        let failed = || ServerCallRecord { outcome: CallOutcome::ToolError, ..call(1) };
        let with_span = r#"{"name":"x","_meta":{"traceparent":"00-1-2-01"}}"#;
        let traced = || ServerCallRecord { params: valid(with_span.to_owned()).unwrap(), ..call(1) };
        for (calls, retries) in [
            (vec![failed(), failed(), call(1)], 2),
            (vec![failed(), traced()], 1),
            (vec![call(1), call(1)], 0),
            (vec![failed(), call(2)], 0),
            (vec![failed(), ServerCallRecord { server: "t".into(), ..call(1) }], 0),
        ] {
            let mut noted = NotedDetails::default();
            calls.into_iter().for_each(|call| noted.add(call));
            assert_eq!(noted.events.len(), retries, "{noted:?}");
            assert!(noted.events.iter().all(|event| event.kind == RecordedEventKind::Retry));
        }
    }

    #[test]
    fn a_record_holds_so_many_calls_of_servers_and_so_many_bytes() {
        let mut many = NotedDetails::default();
        (0..MAX_SERVER_CALLS + 3).for_each(|_| many.add(call(1)));
        assert_eq!((many.server_calls.len(), many.more_server_calls), (MAX_SERVER_CALLS, 3));
        let mut large = NotedDetails::default();
        (0..3).for_each(|_| large.add(call(MAX_SERVER_BYTES / 2)));
        assert_eq!((large.server_calls.len(), large.more_server_calls), (1, 2));
    }
}
