//! Messages in the log, at the level `trace`. The log hides the secrets in them.

use std::borrow::Cow;

use tracing::Level;

/// Bytes of a message that are given to the log, which shows a part of them after it has hidden the secrets.
const MAX_BYTES: usize = 64 << 10;

/// Who sent a message.
#[derive(Clone, Copy, Debug)]
pub enum Sender {
    Proxy,
    Other,
}

impl Sender {
    fn verb(self) -> &'static str {
        match self {
            Sender::Proxy => "received",
            Sender::Other => "sent",
        }
    }
}

/// Logs a message between the proxy and a server.
pub fn trace_server(server: &str, sender: Sender, message: &[u8]) {
    if tracing::enabled!(target: "message", Level::TRACE, server) {
        tracing::trace!(target: "message", server, bytes = message.len(), "{} {}", sender.verb(), shown(message));
    }
}

/// Logs a message between the proxy and a client.
pub fn trace_client(sender: Sender, message: &[u8]) {
    if tracing::enabled!(target: "message", Level::TRACE) {
        tracing::trace!(target: "message", bytes = message.len(), "client {} {}", sender.verb(), shown(message));
    }
}

fn shown(message: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(&message[..message.len().min(MAX_BYTES)])
}
