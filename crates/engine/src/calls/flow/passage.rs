//! Takes a call of a labelled item through the dispatch point.

use std::sync::Arc;

use tokio::runtime::Handle;

use super::guard::{FlowGuard, Verdict, egress};
use super::item::carries_words;
use super::marker::Marker;
use super::peer::{MarkingPeer, SAMPLING};
use proxy_json::{Object, RawRef};
use proxy_mcp_client::{Answer, BackendCall, CallError, Peer};

/// The call of a labelled item that is about to be dispatched.
pub struct Passage {
    guard: FlowGuard,
    /// Whether a person has agreed to this call, or an earlier run of the same handler was allowed to make it.
    is_covered: bool,
}

/// A call that was sent, and whose answer is not passed on yet.
pub(in crate::calls) struct Sent(Arc<Marker>);

impl Passage {
    pub(in crate::calls) fn new(guard: FlowGuard, is_covered: bool) -> Self {
        Passage { guard, is_covered }
    }

    /// Asks the rules, and lets nothing that the server says during the call pass before the marks are stored.
    ///
    /// # Errors
    /// If the rules stop the call.
    pub(in crate::calls) async fn enter(self, call: &mut BackendCall, runtime: Handle) -> Result<Sent, CallError> {
        let Passage { guard, is_covered } = self;
        let has_sampled = has_sampled(&call.params);
        let mut told = guard.told.clone();
        if has_sampled || !guard.labels.is_empty() {
            let reading = guard.reading().await?;
            let new = guard.labels.iter().filter(|label| !reading.has(label)).cloned();
            told = told.with(&new.collect());
            if has_sampled && let Verdict::Asks(consent) = guard.judge(&reading, &egress())? {
                return Err(guard.not_asked(&consent));
            }
            if carries_words(&call.method)
                && let Verdict::Asks(consent) = guard.judge_call(reading, &guard.told)?
                && !is_covered
            {
                return Err(guard.not_asked(&consent));
            }
        }
        guard.caller.told.set(&told);
        let marker = Marker::new(guard, told, is_covered, runtime);
        call.peer = call.peer.take().map(|peer| Arc::new(MarkingPeer::new(peer, Arc::clone(&marker))) as Arc<dyn Peer>);
        Ok(Sent(marker))
    }
}

impl Sent {
    /// The outcome as it may be passed on.
    pub(in crate::calls) async fn leave(self, outcome: Result<Answer, CallError>) -> Result<Answer, CallError> {
        if !tells_something(&outcome) {
            return outcome;
        }
        self.0.mark().await?;
        if let Ok(answer) = &outcome
            && asks_to_sample(&answer.result)
        {
            // The answer comes with another request, which may be made by another process.
            let guard = &self.0.guard;
            let reading = guard.reading().await?;
            if let Verdict::Asks(consent) = guard.judge(&reading, &egress())? {
                return Err(guard.not_asked(&consent));
            }
        }
        outcome
    }
}

/// Whether an outcome has words of the server in it.
fn tells_something(outcome: &Result<Answer, CallError>) -> bool {
    !matches!(
        outcome,
        Err(CallError::Cancelled
            | CallError::Asks(_)
            | CallError::Busy { .. }
            | CallError::Timeout { .. }
            | CallError::Locked(_)
            | CallError::Stopped(_)
            | CallError::Unknown)
    )
}

/// Whether a result asks the client's model something. What cannot be read may.
fn asks_to_sample(result: &RawRef) -> bool {
    let requests = || Object::of(result).ok()?.get("inputRequests").map(RawRef::to_owned);
    let Some(requests) = requests() else { return false };
    let Ok(requests) = Object::of(&requests) else { return true };
    requests.iter().any(|(_, request)| {
        Object::of(request).map_or(true, |request| request.string("method").as_deref() == Some(SAMPLING))
    })
}

/// Whether a request has an answer of the client's model in it. The answer to an elicitation has an `action`, and that to a
/// request for folders `roots`.
fn has_sampled(params: &RawRef) -> bool {
    let answers = || Object::of(params).ok()?.get("inputResponses").map(RawRef::to_owned);
    let Some(answers) = answers() else { return false };
    let Ok(answers) = Object::of(&answers) else { return true };
    answers.iter().any(|(_, answer)| {
        Object::of(answer).map_or(true, |answer| answer.get("action").is_none() && answer.get("roots").is_none())
    })
}
