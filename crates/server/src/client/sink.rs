//! The destination of messages about a running request: only the client that made the request.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::session_stream::SessionStream;
use proxy_wire::outbound::{NoRoom, OutboundMessage, Outlet};
use proxy_wire::{Sender, trace_client};

/// Sends JSON-RPC messages to one client.
#[derive(Clone, Debug)]
pub(crate) enum MessageSink {
    /// A connection, or the response stream of a stateless request.
    Queue(MessageQueue),
    /// An event stream of a session, which the client can resume.
    SessionStream(Arc<SessionStream>),
    /// Drops every message: the client accepts a single response and no event stream.
    Discard,
}

/// The messages that wait for one connection or stream.
#[derive(Clone, Debug)]
pub(crate) struct MessageQueue {
    messages: mpsc::Sender<OutboundMessage>,
    pub(crate) outlet: Outlet,
    /// Cancelled if the client does not read: then the stream ends.
    pub(crate) overrun: CancellationToken,
}

impl MessageQueue {
    pub(crate) fn new(messages: mpsc::Sender<OutboundMessage>, outlet: Outlet) -> Self {
        MessageQueue { messages, outlet, overrun: CancellationToken::new() }
    }

    /// Sends one message, and waits while there is no room. If the client reads too slowly, its stream ends.
    pub(crate) async fn send(&self, message: String) {
        trace_client(Sender::Proxy, message.as_bytes());
        match self.outlet.reserve(message.len()).await {
            Ok(reservation) => drop(self.messages.send(OutboundMessage::new(message, reservation)).await),
            Err(NoRoom) => self.overrun.cancel(),
        }
    }

    fn try_send(&self, message: String) -> bool {
        trace_client(Sender::Proxy, message.as_bytes());
        let Some(reservation) = self.outlet.try_reserve(message.len()) else { return false };
        self.messages.try_send(OutboundMessage::new(message, reservation)).is_ok()
    }

    fn room(&self) -> Option<BoxFuture<'static, ()>> {
        if (self.outlet.has_room() && self.messages.capacity() > 0) || self.messages.is_closed() {
            return None;
        }
        let queue = self.clone();
        let waiting = async move {
            tokio::select! {
                () = queue.messages.closed() => {}
                room = queue.outlet.room() => match room {
                    Ok(()) => drop(queue.messages.reserve().await),
                    Err(NoRoom) => queue.overrun.cancel(),
                },
            }
        };
        Some(waiting.boxed())
    }
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
            MessageSink::Queue(queue) => queue.send(message).await,
            MessageSink::SessionStream(stream) => stream.push(&message).await,
            MessageSink::Discard => {}
        }
    }

    /// Sends one message without waiting. The message is dropped if the queue is full.
    pub(super) fn try_send(&self, message: String) {
        let sent = match self {
            MessageSink::Queue(queue) => queue.try_send(message),
            MessageSink::SessionStream(stream) => stream.try_push(&message),
            MessageSink::Discard => true,
        };
        if !sent {
            tracing::debug!("dropped a notification: the client reads too slowly");
        }
    }

    /// Completes when there is room for another message, or when the stream of a client that does not read has ended.
    /// Returns `None` if there is room now.
    pub(super) fn room(&self) -> Option<BoxFuture<'static, ()>> {
        match self {
            MessageSink::Queue(queue) => queue.room(),
            MessageSink::SessionStream(stream) => stream.room(),
            MessageSink::Discard => None,
        }
    }
}
