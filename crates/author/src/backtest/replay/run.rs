//! The backtest itself: one call after the other, in the order in which they began.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::SystemTime;

use jiff::Timestamp;

use super::answers::ReplayAnswers;
use super::backend::ReplayBackend;
use super::compare::{BacktestVerdict, CallNow, compare};
use super::environment::RecordedClock;
use super::report::BacktestReport;
use super::requester::{context, item_call, request_state};
use super::surfaces::ReplaySurfaces;
use crate::backtest::recording::{CallLine, RecordingFile};
use proxy_base::diagnostic::Diagnostic;
use proxy_engine::calls::{Calls, Dispatcher, ItemCall, RequestContext, WaitingMemory, take_answer};
use proxy_engine::surface::{BuildError, ScriptSource, Surface};
use proxy_fiber::Pool;
use proxy_identity::cedar::Policies;
use proxy_json::{Object, Raw};
use proxy_mcp_client::{Backend, CallError};
use proxy_model::{AnsweredQuestion, CallOutcome, CallRefusal, HandledCall, JournalSnapshot, RefusalReason, Snapshot};
use proxy_telemetry::CallRecording;

/// Handlers that run concurrently: those of one call.
const MAX_HANDLERS: usize = 16;

/// Runs every call of a recording through a script and the policies.
///
/// # Errors
/// If the recorded catalog is invalid, or the script fails for everybody.
pub async fn backtest(
    recording: &RecordingFile,
    script: ScriptSource,
    policies: Option<Arc<Policies>>,
) -> Result<BacktestReport, Vec<Diagnostic>> {
    let mut run = BacktestRun::new(recording, script, policies)?;
    let mut report = BacktestReport::default();
    for call in &recording.calls {
        let (verdict, reads_state) = run.call(call).await;
        report.add(call, verdict, reads_state || call.reads_state);
    }
    match run.surfaces.failure() {
        Some(error) => Err(error.diagnostics().cloned().collect()),
        None => Ok(report),
    }
}

struct BacktestRun {
    /// With the moment from which on each is valid.
    catalogs: Vec<(SystemTime, Arc<Snapshot>)>,
    surfaces: ReplaySurfaces,
    clock: RecordedClock,
    answers: ReplayAnswers,
    calls: Calls,
    /// The calls that have asked something and may be continued, by the recorded `requestState`.
    open: HashMap<String, OpenCall>,
}

/// A call of a stateless client that has asked something.
#[derive(Default)]
struct OpenCall {
    /// `None` if it did not ask in the backtest.
    journal: Option<JournalSnapshot>,
    /// The messages of the questions by their keys, as recorded.
    messages: HashMap<String, String>,
}

impl BacktestRun {
    fn new(
        recording: &RecordingFile,
        script: ScriptSource,
        policies: Option<Arc<Policies>>,
    ) -> Result<Self, Vec<Diagnostic>> {
        let mut catalogs = Vec::new();
        for (line, number) in recording.catalogs.iter().zip(1..) {
            let snapshot = line.snapshot(number).map_err(|error| {
                vec![Diagnostic::error(format!("the recorded catalog of {} is invalid: {error}", line.at))]
            })?;
            let from = line.at.parse::<Timestamp>().map_or(SystemTime::UNIX_EPOCH, SystemTime::from);
            catalogs.push((from, Arc::new(snapshot)));
        }
        let answers = ReplayAnswers::default();
        let mut backends: HashMap<Arc<str>, Arc<dyn Backend>> = HashMap::new();
        for view in catalogs.iter().flat_map(|(_, snapshot)| &snapshot.backends) {
            let backend = ReplayBackend { view: Arc::clone(view), answers: answers.clone() };
            backends.insert(Arc::clone(&view.name), Arc::new(backend));
        }
        let backends: Vec<_> = backends.into_values().collect();
        let clock = RecordedClock::new(recording.calls.first().map_or(SystemTime::UNIX_EPOCH, CallLine::began));
        let calls = Calls {
            dispatcher: Dispatcher::new(&backends),
            pool: Pool::new(MAX_HANDLERS),
            store: clock.store(),
            results: Arc::default(),
            waiting: WaitingMemory::default(),
            test_overrides: Some(Arc::new(clock.clone())),
        };
        calls.dispatcher.policies().set(policies.clone());
        let surfaces = ReplaySurfaces::new(script, policies);
        Ok(BacktestRun { catalogs, surfaces, clock, answers, calls, open: HashMap::new() })
    }

    /// The verdict about a call, and whether its script read stored values.
    async fn call(&mut self, call: &CallLine) -> (BacktestVerdict, bool) {
        if let Some(why) = cannot_compare(call) {
            return (BacktestVerdict::Skipped { why: why.to_owned() }, false);
        }
        self.clock.set(call.began());
        let later = self.catalogs.iter().skip(1).take_while(|(from, _)| *from <= call.began()).count();
        let catalog = Arc::clone(&self.catalogs[later].1);
        let surface = match self.surfaces.of(call, later, &catalog) {
            Ok(surface) => surface,
            Err(error) => return (refused_by_script(call, &error), false),
        };
        self.run(call, &surface).await
    }

    async fn run(&mut self, call: &CallLine, surface: &Arc<Surface>) -> (BacktestVerdict, bool) {
        let recording = CallRecording::begin(self.calls.dispatcher.telemetry(), true, None);
        let request = context(call, surface, Arc::clone(&recording));
        request.record_item(call.kind(), &call.name);
        self.answers.load(&call.server_calls);
        let state = request_state(call);
        let earlier = state.and_then(|state| self.open.remove(&state)).unwrap_or_default();
        let mut answers: VecDeque<AnsweredQuestion> = call.questions.iter().cloned().collect();
        answers.extend(sent_answers(call, &earlier.messages));
        let (item, has_answers) = (item_call(call, surface), !answers.is_empty());
        let (asked, open) = self.answered(&request, item, earlier.journal, &mut answers).await;
        let noted = recording.details().map(|details| details.noted.lock().clone()).unwrap_or_default();
        let missing = HandledCall { outcome: CallOutcome::Cancelled, result: None };
        let now = CallNow {
            handled: noted.replay.handled.unwrap_or(missing),
            refusal: noted.refusal,
            open_question: open.as_ref().and_then(first_question),
            asked,
            has_answers,
            left: self.answers.left(),
        };
        self.keep_open(call, open);
        (compare(call, &now), noted.replay.reads_state)
    }

    /// Runs the call and answers its questions for as long as answers are known. Returns whether anything was asked, and
    /// the journal of a call that waits for an answer.
    async fn answered(
        &self,
        request: &RequestContext,
        item: ItemCall,
        mut journal: Option<JournalSnapshot>,
        answers: &mut VecDeque<AnsweredQuestion>,
    ) -> (bool, Option<JournalSnapshot>) {
        let mut asked = journal.is_some();
        if let Some(open) = &mut journal
            && !take_answers(open, answers)
        {
            return (true, journal);
        }
        loop {
            let call = ItemCall { journal: journal.take(), ..item.clone() };
            let Err(CallError::Asks(mut open)) = self.calls.item(request, call).await else { return (asked, None) };
            asked = true;
            if !take_answers(&mut open, answers) {
                return (asked, Some(open));
            }
            journal = Some(open);
        }
    }

    /// Remembers a recorded question, with which a later call may continue.
    fn keep_open(&mut self, call: &CallLine, journal: Option<JournalSnapshot>) {
        let Some(result) = call.result.as_ref().filter(|_| call.outcome == CallOutcome::Asked) else { return };
        let Ok(result) = Object::of(result) else { return };
        let Some(state) = result.string("requestState") else { return };
        let requests = result.get("inputRequests").and_then(|requests| Object::of(requests).ok());
        let messages = requests.iter().flat_map(|requests| requests.iter()).filter_map(|(key, request)| {
            let request: serde_json::Value = serde_json::from_str(request.get()).ok()?;
            // Requests that are not for the user, such as `roots/list`, are identified by their method.
            let message = request["params"]["message"].as_str().or_else(|| request["method"].as_str())?;
            Some((key.to_string(), message.to_owned()))
        });
        self.open.insert(state, OpenCall { journal, messages: messages.collect() });
    }
}

/// Answers all open questions of a journal. Returns false if one has no recorded answer.
fn take_answers(journal: &mut JournalSnapshot, answers: &mut VecDeque<AnsweredQuestion>) -> bool {
    while let Some((key, message)) =
        journal.questions().into_iter().map(|(key, question)| (key, question.message.clone())).next()
    {
        let Some(found) = answers.iter().position(|answer| answer.message == message) else { return false };
        let Some(answer) = answers.remove(found) else { return false };
        if take_answer(journal, &key, Ok(answer.answer)).is_err() {
            return false;
        }
    }
    true
}

fn first_question(journal: &JournalSnapshot) -> Option<String> {
    journal.questions().first().map(|(_, question)| question.message.clone())
}

/// The answers that a stateless client sends with its request, with the recorded questions.
fn sent_answers(call: &CallLine, messages: &HashMap<String, String>) -> Vec<AnsweredQuestion> {
    let params = call.params.as_deref().and_then(|params| Object::of(params).ok());
    let sent = params.as_ref().and_then(|params| Object::of(params.get("inputResponses")?).ok());
    let answers = sent.iter().flat_map(|sent| sent.iter()).filter_map(|(key, answer)| {
        let message = messages.get(key)?.clone();
        Some(AnsweredQuestion { message, answer: Raw::clone(&answer.to_owned()) })
    });
    answers.collect()
}

/// Why a call cannot be compared.
fn cannot_compare(call: &CallLine) -> Option<&'static str> {
    if call.more_server_calls > 0 {
        return Some("it made more server calls than a record holds");
    }
    if call.refusal.as_ref().is_some_and(|refusal| refusal.reason == RefusalReason::Audit) {
        return Some("the audit log refused it");
    }
    match (call.ended, &call.outcome) {
        (true, CallOutcome::Cancelled) | (false, CallOutcome::Cancelled) => Some("it was cancelled"),
        (false, _) => Some("it was still running when its request ended"),
        _ => None,
    }
}

/// The verdict about the call of a user for whom the script fails.
fn refused_by_script(call: &CallLine, error: &BuildError) -> BacktestVerdict {
    if call.refusal.is_some() {
        return BacktestVerdict::Same;
    }
    let diagnostic = error.diagnostic();
    let refusal = CallRefusal {
        reason: RefusalReason::Unknown,
        at: diagnostic.place.as_ref().map(|place| place.short()),
        why: format!("the script fails for this user: {}", diagnostic.message),
    };
    BacktestVerdict::Refused { at: refusal.at, why: refusal.why }
}
