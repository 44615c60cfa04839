//! Where messages about a running request go: to the one that made it, and nobody else.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::stream::Stream;

#[derive(Clone, Debug)]
pub(crate) enum MessageSink {
    /// A connection, or the response stream of a stateless request.
    Queue(mpsc::Sender<String>),
    /// A stream of a session, which can be taken up again.
    Stream(Arc<Stream>),
    /// The client takes a single answer and nothing before it.
    Nowhere,
}

impl MessageSink {
    /// Ends when somebody is there to hear.
    pub(crate) async fn ready(&self) {
        if let MessageSink::Stream(stream) = self {
            stream.reader().await;
        }
    }

    /// Sends one message, waiting while the client does not read. A client that is gone needs none.
    pub(crate) async fn send(&self, message: String) {
        match self {
            MessageSink::Queue(queue) => drop(queue.send(message).await),
            MessageSink::Stream(stream) => stream.push(&message).await,
            MessageSink::Nowhere => {}
        }
    }

    /// Sends one message that nobody has to wait for; it is lost where the client does not keep up.
    pub(crate) fn try_send(&self, message: String) {
        let sent = match self {
            MessageSink::Queue(queue) => queue.try_send(message).is_ok(),
            MessageSink::Stream(stream) => stream.try_push(&message),
            MessageSink::Nowhere => true,
        };
        if !sent {
            tracing::debug!("a notification was dropped: its reader does not keep up");
        }
    }
}
