//! The questions that wait for an answer over the control socket.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use proxy_json::Raw;

#[derive(Debug, Default)]
pub(super) struct OperatorQuestions(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    last: u64,
    answers: HashMap<u64, oneshot::Sender<Raw>>,
}

/// An open question. Dropping it withdraws the question.
pub(super) struct OperatorQuestion {
    pub(super) id: u64,
    pub(super) answer: oneshot::Receiver<Raw>,
    questions: Arc<OperatorQuestions>,
}

impl OperatorQuestions {
    pub(super) fn open(self: &Arc<Self>) -> OperatorQuestion {
        let (sender, answer) = oneshot::channel();
        let mut waiting = self.0.lock();
        waiting.last += 1;
        let id = waiting.last;
        waiting.answers.insert(id, sender);
        OperatorQuestion { id, answer, questions: Arc::clone(self) }
    }

    /// Answers a question. Returns whether it was still open.
    pub(super) fn answer(&self, id: u64, answer: Raw) -> bool {
        let sender = self.0.lock().answers.remove(&id);
        sender.is_some_and(|sender| sender.send(answer).is_ok())
    }
}

impl Drop for OperatorQuestion {
    fn drop(&mut self) {
        self.questions.0.lock().answers.remove(&self.id);
    }
}
