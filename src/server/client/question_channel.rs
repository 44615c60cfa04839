//! The channel by which a running call asks a stateless client, which is asked by the result of its request.

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use crate::backend::Question;
use crate::json::Raw;
use crate::wire::RpcError;

/// Takes the questions of a running call.
#[derive(Clone, Debug)]
pub(crate) struct QuestionSender(mpsc::UnboundedSender<PendingQuestion>);

/// A question that waits for its answer.
#[derive(Debug)]
pub(crate) struct PendingQuestion {
    pub(crate) question: Question,
    pub(crate) answer: oneshot::Sender<Result<Raw, RpcError>>,
    /// How often the client came back without an answer to it.
    pub(crate) reminders: usize,
}

impl QuestionSender {
    pub(crate) fn channel() -> (Self, QuestionReceiver) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (QuestionSender(sender), QuestionReceiver(receiver))
    }

    pub(crate) fn ask(&self, question: Question) -> BoxFuture<'static, Result<Raw, RpcError>> {
        let (sender, answer) = oneshot::channel();
        let sent = self.0.send(PendingQuestion { question, answer: sender, reminders: 0 });
        async move {
            let gone = || Err(RpcError::internal("the client did not come back"));
            if sent.is_err() {
                return gone();
            }
            answer.await.unwrap_or_else(|_| gone())
        }
        .boxed()
    }
}

#[derive(Debug)]
/// Gives the questions of a running call.
pub(crate) struct QuestionReceiver(pub(crate) mpsc::UnboundedReceiver<PendingQuestion>);
