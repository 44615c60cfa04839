//! A handler that asks: for a client that can be asked in the middle of its call, the proxy asks, and then runs the
//! handler again with the answers. A client that makes its calls again by itself gets the questions instead.

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
use crate::model::checked_answer;
use crate::script::{JournalSnapshot, Question};

/// How long a person may take; also how long a ticket is good.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// How often a question is asked again because the answer does not fit.
const MOST_REMINDERS: u32 = 2;
/// What journals of calls that wait in this process may take together, in bytes.
const MOST_WAITING: usize = 64 << 20;

/// The script's question as one of the protocol.
pub fn as_request(question: &Question) -> backend::Question {
    let params = json!({"message": question.message, "requestedSchema": question.schema});
    backend::Question { method: "elicitation/create".to_owned(), params: raw(&params), patience: ANSWER_TIMEOUT }
}

/// Puts an answer into the journal if it fits its question. Otherwise the question stays; an error when that has happened
/// too often.
pub fn take_answer(past: &mut JournalSnapshot, key: &str, answer: Option<&crate::json::RawRef>) -> Result<(), String> {
    let schema =
        past.questions().into_iter().find(|(known, _)| known == key).map(|(_, question)| question.schema.clone());
    let Some(schema) = schema else { return Ok(()) };
    let reason = match answer.map(|answer| checked_answer(&schema, answer)) {
        Some(Ok(answer)) => {
            past.answer(key, answer);
            return Ok(());
        }
        Some(Err(reason)) => reason,
        None => "there was none".to_owned(),
    };
    if past.remind(key) > MOST_REMINDERS {
        return Err(format!("no answer came that fits the question; the last one: {reason}"));
    }
    tracing::debug!(reason, "a question is asked again");
    Ok(())
}

/// The room that waiting calls take in this process.
#[derive(Clone, Debug, Default)]
pub struct WaitingRoom(Arc<AtomicUsize>);

/// Given back when it is dropped.
struct Location {
    room: WaitingRoom,
    bytes: usize,
}

impl WaitingRoom {
    fn take(&self, bytes: usize) -> Result<Location, String> {
        let place = Location { room: self.clone(), bytes };
        if self.0.fetch_add(bytes, Ordering::Relaxed) + bytes > MOST_WAITING {
            return Err(format!("too many calls wait for answers: they may take {} MiB together", MOST_WAITING >> 20));
        }
        Ok(place)
    }
}

impl Drop for Location {
    fn drop(&mut self) {
        self.room.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Asks until every question has an answer that fits.
pub(super) async fn answered(
    mut past: JournalSnapshot,
    request: &RequestContext,
    room: &WaitingRoom,
) -> Result<JournalSnapshot, CallError> {
    let failed = |message: String| CallError::Failed { message, data: None };
    let Some(peer) = &request.peer else { return Err(failed("there is nobody to ask".to_owned())) };
    let _place = room.take(past.bytes()).map_err(failed)?;
    loop {
        let open: Vec<(String, backend::Question)> =
            past.questions().into_iter().map(|(key, question)| (key, as_request(question))).collect();
        if open.is_empty() {
            return Ok(past);
        }
        let answers = join_all(open.into_iter().map(|(key, question)| ask(peer, key, question)));
        let answers = tokio::select! {
            biased;
            () = request.cancel.cancelled() => return Err(CallError::Cancelled),
            answers = answers => answers,
        };
        for (key, answer) in answers {
            take_answer(&mut past, &key, Some(&answer)).map_err(failed)?;
        }
    }
}

/// Whoever does not answer in time, or says that it cannot, has put the question away.
async fn ask(peer: &Arc<dyn Peer>, key: String, question: backend::Question) -> (String, Raw) {
    let answer = tokio::time::timeout(ANSWER_TIMEOUT, peer.ask(question)).await;
    (key, answer.ok().and_then(Result::ok).unwrap_or_else(|| raw(&json!({"action": "cancel"}))))
}
