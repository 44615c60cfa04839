//! Where it is noted what the rules have decided: in the record of a call, or for the audit line about a question that a
//! server asks while no call runs.

use std::sync::Arc;

use parking_lot::Mutex;

use proxy_model::flow::FlowDecision;
use proxy_model::{CallRefusal, RefusalReason};
use proxy_telemetry::CallRecording;

/// What the rules have decided about a question between calls.
#[derive(Clone, Debug, Default)]
pub(super) struct QuestionDecisions {
    /// The digest of the script whose rules were asked.
    pub(super) policy: Option<Arc<str>>,
    /// The rules that applied, each once.
    pub(super) flow: Vec<FlowDecision>,
    /// Why the server gets no answer.
    pub(super) refusal: Option<CallRefusal>,
}

#[derive(Clone)]
pub(super) enum Decisions {
    /// Nobody reads them.
    Unread,
    OfCall(Arc<CallRecording>),
    OfQuestion(Arc<Mutex<QuestionDecisions>>),
}

impl Decisions {
    pub(super) fn of_call(recording: Option<&Arc<CallRecording>>) -> Self {
        recording.map_or(Decisions::Unread, |recording| Decisions::OfCall(Arc::clone(recording)))
    }

    /// Notes a rule that applied.
    pub(super) fn note(&self, decision: FlowDecision) {
        match self {
            Decisions::Unread => {}
            Decisions::OfCall(recording) => recording.note(|noted| noted.flow.push(decision)),
            Decisions::OfQuestion(decisions) => {
                let flow = &mut decisions.lock().flow;
                // The rules are asked before the question and after its answer.
                if !flow.contains(&decision) {
                    flow.push(decision);
                }
            }
        }
    }

    /// Notes that the call or the question is stopped. `is_inner` if a handler makes the call, which may still answer
    /// otherwise.
    pub(super) fn note_refusal(&self, why: &str, at: Option<String>, is_inner: bool) {
        let refusal = |at| CallRefusal { reason: RefusalReason::Flow, at, why: why.to_owned() };
        match self {
            Decisions::Unread => {}
            Decisions::OfCall(recording) if is_inner => recording.inner_refused(refusal(at)),
            Decisions::OfCall(recording) => recording.refused(RefusalReason::Flow, || at, why),
            Decisions::OfQuestion(decisions) => decisions.lock().refusal = Some(refusal(at)),
        }
    }
}
