//! The elicitations that wait for an answer over the control socket.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use proxy_json::Raw;

#[derive(Debug, Default)]
pub(super) struct OperatorElicitations(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    last: u64,
    answers: HashMap<u64, oneshot::Sender<Raw>>,
}

/// An open elicitation. Dropping it withdraws the elicitation.
pub(super) struct OperatorElicitation {
    pub(super) id: u64,
    pub(super) answer: oneshot::Receiver<Raw>,
    elicitations: Arc<OperatorElicitations>,
}

impl OperatorElicitations {
    pub(super) fn open(self: &Arc<Self>) -> OperatorElicitation {
        let (sender, answer) = oneshot::channel();
        let mut waiting = self.0.lock();
        waiting.last += 1;
        let id = waiting.last;
        waiting.answers.insert(id, sender);
        OperatorElicitation { id, answer, elicitations: Arc::clone(self) }
    }

    /// Answers an elicitation. Returns whether it was still open.
    pub(super) fn answer(&self, id: u64, answer: Raw) -> bool {
        let sender = self.0.lock().answers.remove(&id);
        sender.is_some_and(|sender| sender.send(answer).is_ok())
    }
}

impl Drop for OperatorElicitation {
    fn drop(&mut self) {
        self.elicitations.0.lock().answers.remove(&self.id);
    }
}
