//! Elicitation on behalf of a handler. The proxy sends the handler's questions to a client that accepts requests during
//! its call, and then runs the handler again with the answers. A client that retries with `inputResponses` receives the
//! questions as the result of its request instead.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::join_all;
use serde_json::{Value, json};

use super::client_question::{ANSWER_TIMEOUT, as_request};
use super::context::RequestContext;
use proxy_host_io::resolved_client_folders;
use proxy_json::{Object, Raw, RawRef, raw};
use proxy_mcp_client as backend;
use proxy_mcp_client::{CallError, Peer};
use proxy_model::{AnsweredQuestion, JournalSnapshot, Question, QuestionKind, checked_answer};

/// How often a question is repeated after an answer that does not match its schema.
const MAX_REMINDERS: u32 = 2;
/// The maximum size of all journals of calls that wait in this process, in bytes.
const MAX_WAITING_BYTES: usize = 64 << 20;

/// The answer to a question as [`take_answer`] takes it. The folders of a client are looked up in the file system.
///
/// # Errors
/// Why the answer is invalid.
pub async fn prepared_answer(question: &Question, answer: Option<&RawRef>) -> Result<Raw, String> {
    let answer = answer.ok_or("the answer is missing")?.to_owned();
    if question.kind != QuestionKind::Roots {
        return Ok(answer);
    }
    let resolved = tokio::task::spawn_blocking(move || resolved_client_folders(&answer)).await;
    resolved.map_err(|error| error.to_string())?
}

/// An answer as the script gets it. Fails with the reason why it is invalid.
fn checked(question: &Question, answer: &RawRef) -> Result<Raw, String> {
    match question.kind {
        QuestionKind::Form => checked_answer(&question.schema, answer),
        // The answer to a URL elicitation has no form values.
        QuestionKind::Url(_) => {
            let action = Object::of(answer).map_err(|error| error.to_string())?.edit().remove("content").finish_raw();
            checked_answer(&question.schema, &action)
        }
        QuestionKind::Roots => {
            let roots: Value = serde_json::from_str(answer.get()).map_err(|error| error.to_string())?;
            let roots = roots.get("roots").and_then(Value::as_array).ok_or("it has no `roots` list")?;
            match roots.iter().all(|root| root["uri"].is_string()) {
                true => Ok(answer.to_owned()),
                false => Err("a root has no `uri`".to_owned()),
            }
        }
    }
}

/// Puts an answer into the journal if it matches the question's schema. Otherwise the question stays open. Returns an
/// error if the question has been repeated too often.
pub fn take_answer(journal: &mut JournalSnapshot, key: &str, answer: Result<Raw, String>) -> Result<(), String> {
    let Some(question) = open_question(journal, key) else { return Ok(()) };
    let reason = match answer.and_then(|answer| checked(&question, &answer)) {
        Ok(answer) => {
            journal.answer(key, answer);
            return Ok(());
        }
        Err(reason) => reason,
    };
    if journal.remind(key) > MAX_REMINDERS {
        return Err(format!("the client sent no valid answer (last: {reason})"));
    }
    tracing::debug!(reason, "invalid answer; asking again");
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
            return Err(format!(
                "too many calls are waiting for answers: the limit is {limit} MiB in total; try again later"
            ));
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
            let Some(question) = open_question(&journal, &key) else { continue };
            let answer = prepared_answer(&question, Some(&answer)).await;
            if let (Some(recording), Ok(answer)) = (&request.recording, &answer) {
                let answered = AnsweredQuestion { message: question.message, answer: Raw::clone(answer) };
                recording.note(|noted| noted.replay.questions.push(answered));
            }
            take_answer(&mut journal, &key, answer).map_err(failed)?;
        }
    }
}

/// The question with this key, if it has no answer yet.
fn open_question(journal: &JournalSnapshot, key: &str) -> Option<Question> {
    journal.questions().into_iter().find(|(open, _)| open == key).map(|(_, question)| question.clone())
}

/// Asks one question. A timeout and an error response both count as the answer `cancel`, or as no folders.
async fn ask(peer: &Arc<dyn Peer>, key: String, question: backend::Question) -> (String, Raw) {
    let none = if question.method == "roots/list" { json!({"roots": []}) } else { json!({"action": "cancel"}) };
    let answer = tokio::time::timeout(ANSWER_TIMEOUT, peer.ask(question)).await;
    (key, answer.ok().and_then(Result::ok).unwrap_or_else(|| raw(&none)))
}
