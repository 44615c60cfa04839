//! Elicitation on behalf of a handler. The proxy sends the handler's questions to a client that accepts requests during
//! its call, and then runs the handler again with the answers. A client that retries with `inputResponses` receives the
//! questions as the result of its request instead.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::join_all;
use serde_json::json;

use super::context::RequestContext;
use crate::backend;
use crate::backend::CallError;
use crate::backend::Peer;
use crate::json::{Raw, raw};
use crate::model::{AnsweredQuestion, checked_answer};
use crate::script::{JournalSnapshot, Question};

/// How long a person may take to answer. Tickets expire after the same time.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// How often a question is repeated after an answer that does not match its schema.
const MAX_REMINDERS: u32 = 2;
/// The maximum size of all journals of calls that wait in this process, in bytes.
const MAX_WAITING_BYTES: usize = 64 << 20;

/// Encodes a script's question as `elicitation/create`.
pub fn as_request(question: &Question) -> backend::Question {
    let params = json!({"message": question.message, "requestedSchema": question.schema});
    backend::Question { method: "elicitation/create".to_owned(), params: raw(&params), answer_timeout: ANSWER_TIMEOUT }
}

/// Puts an answer into the journal if it matches the question's schema. Otherwise the question stays open. Returns an
/// error if the question has been repeated too often.
pub fn take_answer(
    journal: &mut JournalSnapshot,
    key: &str,
    answer: Option<&crate::json::RawRef>,
) -> Result<(), String> {
    let schema =
        journal.questions().into_iter().find(|(open, _)| open == key).map(|(_, question)| question.schema.clone());
    let Some(schema) = schema else { return Ok(()) };
    let reason = match answer.map(|answer| checked_answer(&schema, answer)) {
        Some(Ok(answer)) => {
            journal.answer(key, answer);
            return Ok(());
        }
        Some(Err(reason)) => reason,
        None => "the answer is missing".to_owned(),
    };
    if journal.remind(key) > MAX_REMINDERS {
        return Err(format!("the client sent no valid answer to the question (last: {reason})"));
    }
    tracing::debug!(reason, "invalid answer; repeating the question");
    Ok(())
}

/// Counts the memory of the calls that wait for an answer in this process, and limits it.
#[derive(Clone, Debug, Default)]
pub struct WaitingMemory(Arc<AtomicUsize>);

/// The memory reserved for one waiting call; released on drop.
struct Reservation {
    total: WaitingMemory,
    bytes: usize,
}

impl WaitingMemory {
    fn reserve(&self, bytes: usize) -> Result<Reservation, String> {
        // Counted before the check: dropping the reservation subtracts it again.
        let reservation = Reservation { total: self.clone(), bytes };
        if self.0.fetch_add(bytes, Ordering::Relaxed) + bytes > MAX_WAITING_BYTES {
            let limit = MAX_WAITING_BYTES >> 20;
            return Err(format!("too many calls wait for answers: the limit is {limit} MiB in total; try again later"));
        }
        Ok(reservation)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.total.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Asks the client until every open question in the journal has a valid answer.
pub(super) async fn answered(
    mut journal: JournalSnapshot,
    request: &RequestContext,
    waiting: &WaitingMemory,
) -> Result<JournalSnapshot, CallError> {
    let failed = |message: String| CallError::Failed { message, data: None };
    let Some(peer) = &request.peer else { return Err(failed("this call has no client to ask".to_owned())) };
    let _reservation = waiting.reserve(journal.bytes()).map_err(failed)?;
    loop {
        let open: Vec<(String, backend::Question)> =
            journal.questions().into_iter().map(|(key, question)| (key, as_request(question))).collect();
        if open.is_empty() {
            return Ok(journal);
        }
        let answers = join_all(open.into_iter().map(|(key, question)| ask(peer, key, question)));
        let answers = tokio::select! {
            biased;
            () = request.cancel.cancelled() => return Err(CallError::Cancelled),
            answers = answers => answers,
        };
        for (key, answer) in answers {
            if let Some(recording) = &request.recording {
                recording.note(|noted| noted.replay.questions.extend(answered_question(&journal, &key, &answer)));
            }
            take_answer(&mut journal, &key, Some(&answer)).map_err(failed)?;
        }
    }
}

/// An open question of the journal with its answer.
fn answered_question(journal: &JournalSnapshot, key: &str, answer: &Raw) -> Option<AnsweredQuestion> {
    let questions = journal.questions();
    let (_, question) = questions.iter().find(|(open, _)| open == key)?;
    Some(AnsweredQuestion { message: question.message.clone(), answer: Raw::clone(answer) })
}

/// Asks one question. A timeout and an error response both count as the answer `cancel`.
async fn ask(peer: &Arc<dyn Peer>, key: String, question: backend::Question) -> (String, Raw) {
    let answer = tokio::time::timeout(ANSWER_TIMEOUT, peer.ask(question)).await;
    (key, answer.ok().and_then(Result::ok).unwrap_or_else(|| raw(&json!({"action": "cancel"}))))
}
