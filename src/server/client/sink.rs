//! The destination of messages about a running request: only the client that made the request.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::session_stream::SessionStream;

/// Sends JSON-RPC messages to one client.
#[derive(Clone, Debug)]
pub(crate) enum MessageSink {
    /// A connection, or the response stream of a stateless request.
    Queue(mpsc::Sender<String>),
    /// An event stream of a session, which the client can resume.
    SessionStream(Arc<SessionStream>),
    /// Drops every message: the client accepts a single response and no event stream.
    Discard,
}

impl MessageSink {
    /// Waits until the client is connected to the stream.
    pub(super) async fn ready(&self) {
        if let MessageSink::SessionStream(stream) = self {
            stream.wait_for_reader().await;
        }
    }

    /// Sends one message, and waits while the queue is full. A message to a disconnected client is dropped.
    pub(crate) async fn send(&self, message: String) {
        match self {
            MessageSink::Queue(queue) => drop(queue.send(message).await),
            MessageSink::SessionStream(stream) => stream.push(&message).await,
            MessageSink::Discard => {}
        }
    }

    /// Sends one message without waiting. The message is dropped if the queue is full.
    pub(super) fn try_send(&self, message: String) {
        let sent = match self {
            MessageSink::Queue(queue) => queue.try_send(message).is_ok(),
            MessageSink::SessionStream(stream) => stream.try_push(&message),
            MessageSink::Discard => true,
        };
        if !sent {
            tracing::debug!("dropped a notification: the client reads too slowly");
        }
    }
}
