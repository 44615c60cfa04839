//! The channel from a running call to the conversation that asks the stateless client, by returning the questions as
//! the result of the client's request.

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use proxy_json::Raw;
use proxy_mcp_client::Question;
use proxy_wire::RpcError;

/// Sends the questions of a running call.
#[derive(Clone, Debug)]
pub(crate) struct QuestionSender(mpsc::UnboundedSender<QueuedQuestion>);

/// A question that waits for its answer.
#[derive(Debug)]
pub(crate) struct QueuedQuestion {
    pub(crate) question: Question,
    pub(crate) answer: oneshot::Sender<Result<Raw, RpcError>>,
    /// How often the client retried without an answer to this question.
    pub(crate) reminders: usize,
}

impl QuestionSender {
    pub(crate) fn channel() -> (Self, QuestionReceiver) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (QuestionSender(sender), QuestionReceiver(receiver))
    }

    pub(crate) fn ask(&self, question: Question) -> BoxFuture<'static, Result<Raw, RpcError>> {
        let (sender, answer) = oneshot::channel();
        let sent = self.0.send(QueuedQuestion { question, answer: sender, reminders: 0 });
        async move {
            let gone = || Err(RpcError::internal("the client did not retry the request with an answer"));
            if sent.is_err() {
                return gone();
            }
            answer.await.unwrap_or_else(|_| gone())
        }
        .boxed()
    }
}

/// Receives the questions of a running call.
#[derive(Debug)]
pub(crate) struct QuestionReceiver(pub(crate) mpsc::UnboundedReceiver<QueuedQuestion>);
