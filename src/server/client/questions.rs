//! Requests of the proxy to a session-based client, and the answers to them.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::oneshot;

use super::sink::MessageSink;
use crate::json::Raw;
use crate::wire::{Id, Response, RpcError, encode};

type Answer = Result<Raw, RpcError>;

/// The questions of one session that are not answered yet.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    open: Mutex<HashMap<u64, oneshot::Sender<Answer>>>,
}

impl Questions {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<Answer>>> {
        self.open.lock()
    }

    /// Asks the client where its call is answered. Dropping the future takes the question back.
    pub(crate) async fn ask(self: Arc<Self>, sink: MessageSink, method: String, params: Raw) -> Answer {
        if matches!(sink, MessageSink::Nowhere) {
            return Err(RpcError::internal("the client takes a single answer and cannot be asked in between"));
        }
        // Never used twice: the answer to an old question must not be one to a new question.
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        self.lock().insert(id, sender);
        let mut open = Open { questions: &self, sink: &sink, id, sent: false };
        sink.send(encode::request(&Id::number(id), &method, Some(params.get()))).await;
        open.sent = true;
        let answer = answer.await;
        open.sent = false;
        answer.unwrap_or_else(|_| Err(RpcError::internal("the session ended")))
    }

    /// Takes an answer of the client; one to nothing is dropped.
    pub(crate) fn take(&self, response: Response) {
        let question = response.id.as_ref().and_then(Id::as_number).and_then(|id| self.lock().remove(&id));
        match question {
            Some(question) => drop(question.send(response.outcome)),
            None => tracing::debug!(id = ?response.id, "an answer to nothing was dropped"),
        }
    }

    /// Nobody will answer any more.
    pub(crate) fn end(&self) {
        self.lock().clear();
    }
}

/// A question that is out.
struct Open<'a> {
    questions: &'a Questions,
    sink: &'a MessageSink,
    id: u64,
    sent: bool,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let unanswered = self.questions.lock().remove(&self.id).is_some();
        if unanswered && self.sent {
            let params = format!("{{\"requestId\":{}}}", self.id);
            self.sink.try_send(encode::notification("notifications/cancelled", Some(&params)));
        }
    }
}
