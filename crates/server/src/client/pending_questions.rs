//! JSON-RPC requests from the proxy to a session-based client, and their responses.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{oneshot, watch};

use super::sink::MessageSink;
use proxy_json::Raw;
use proxy_model::Home;
use proxy_wire::{Id, Response, RpcError, encode};

/// The result or error in the client's response.
type ResponseOutcome = Result<Raw, RpcError>;

/// The requests to the client of one session that have no response yet.
#[derive(Debug, Default)]
pub(crate) struct PendingQuestions {
    open: Mutex<HashMap<u64, oneshot::Sender<ResponseOutcome>>>,
    state: watch::Sender<SessionState>,
}

/// Whether the client of a session may be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SessionState {
    #[default]
    Open,
    /// Questions wait until the client has completed its handshake.
    Held,
    Ended,
}

impl PendingQuestions {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<ResponseOutcome>>> {
        self.open.lock()
    }

    /// Sends a request to the client and waits for the response. Dropping the future sends `notifications/cancelled`.
    pub(crate) async fn ask(self: Arc<Self>, sink: MessageSink, method: String, params: Raw) -> ResponseOutcome {
        if matches!(sink, MessageSink::Discard) {
            return Err(RpcError::internal(
                "cannot ask the client: it accepts a single JSON response but no event stream",
            ));
        }
        let ended = || RpcError::internal("the session ended");
        let mut state = self.state.subscribe();
        if !state.wait_for(|state| *state != SessionState::Held).await.is_ok_and(|state| *state == SessionState::Open) {
            return Err(ended());
        }
        let number = next_number();
        let (sender, answer) = oneshot::channel();
        self.lock().insert(number, sender);
        let mut open = SentQuestion { questions: &self, sink: &sink, number, sent: false };
        sink.send(encode::request(&question_id(number), &method, Some(params.get()))).await;
        open.sent = true;
        let answer = answer.await;
        open.sent = false;
        answer.unwrap_or_else(|_| Err(ended()))
    }

    /// Questions wait from now on.
    pub(crate) fn hold(&self) {
        self.state.send_replace(SessionState::Held);
    }

    /// Sends the questions that waited.
    pub(crate) fn release(&self) {
        self.state.send_if_modified(|state| {
            let was_held = *state == SessionState::Held;
            if was_held {
                *state = SessionState::Open;
            }
            was_held
        });
    }

    /// Hands a response to the call that asked. A response to an unknown id is dropped.
    pub(crate) fn take(&self, response: Response) {
        let question = response.id.as_ref().and_then(number_of).and_then(|number| self.lock().remove(&number));
        match question {
            Some(question) => drop(question.send(response.outcome)),
            None => tracing::debug!(id = ?response.id, "dropped a response to an unknown request"),
        }
    }

    /// Fails all open questions, those that wait, and later ones, because the session has ended.
    pub(crate) fn end(&self) {
        self.state.send_replace(SessionState::Ended);
        self.lock().clear();
    }
}

/// Numbers are unique in the process, so that a late response cannot be taken for the response to another question.
fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The id of a question. It names this process, because a session may be asked by several.
fn question_id(number: u64) -> Id {
    Id::string(&format!("{}.{number}", Home::of_this_process()))
}

/// The process that has asked the question with this id; `None` for an id that no process makes.
pub(crate) fn home_of(id: &Id) -> Option<Home> {
    let text = id.text();
    let (home, _) = text.split_once('.')?;
    Home::parse(home)
}

/// The number of the question with this id; `None` if another process has asked it.
fn number_of(id: &Id) -> Option<u64> {
    let text = id.text();
    let (home, number) = text.split_once('.')?;
    if Home::parse(home)? != Home::of_this_process() {
        return None;
    }
    number.parse().ok()
}

/// A question that was sent. Dropping it before the response arrives cancels it.
struct SentQuestion<'a> {
    questions: &'a PendingQuestions,
    sink: &'a MessageSink,
    number: u64,
    sent: bool,
}

impl Drop for SentQuestion<'_> {
    fn drop(&mut self) {
        let unanswered = self.questions.lock().remove(&self.number).is_some();
        if unanswered && self.sent {
            let params = format!("{{\"requestId\":{}}}", question_id(self.number));
            self.sink.try_send(encode::notification("notifications/cancelled", Some(&params)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::sink::MessageQueue;
    use proxy_model::Owner;
    use proxy_wire::outbound::OutboundBudget;

    #[test]
    fn the_question_of_another_process_is_not_ours() {
        assert_eq!(number_of(&question_id(7)), Some(7));
        for other in ["7", "\"7\"", "\"0000000000000000.7\"", "\".7\"", "\"\""] {
            assert_eq!(number_of(&Id::parse(other).unwrap()), None, "{other}");
        }
    }

    #[tokio::test]
    async fn a_session_that_has_ended_is_asked_nothing() {
        let (lines, mut sent) = tokio::sync::mpsc::channel(1);
        let outlet = OutboundBudget::default().connection().outlet(Owner::Everybody);
        let queue = MessageQueue::new(lines, outlet);
        let questions = Arc::new(PendingQuestions::default());
        questions.hold();
        let ask = || {
            let params = proxy_json::raw(&serde_json::json!({}));
            Arc::clone(&questions).ask(MessageSink::Queue(queue.clone()), "roots/list".to_owned(), params)
        };
        let mut held = std::pin::pin!(ask());
        assert!(futures::poll!(&mut held).is_pending(), "the handshake is not complete");
        questions.end();
        for refused in [held.await, ask().await] {
            assert_eq!(refused.unwrap_err().message(), "the session ended");
        }
        questions.release();
        assert!(ask().await.is_err());
        assert!(sent.try_recv().is_err(), "nothing was sent");
    }
}
