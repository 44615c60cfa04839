//! Encodes events.

use std::time::Duration;

/// How long a client waits before it asks for a stream again.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// A comment that keeps proxies from closing a silent stream.
pub const KEEP_ALIVE: &str = ": keep-alive\n\n";

/// An event with a message, which must be on one line.
pub fn event(id: Option<&str>, message: &[u8]) -> Vec<u8> {
    let id = id.map_or_else(String::new, |id| format!("id: {id}\n"));
    [id.as_bytes(), b"data: ", message, b"\n\n"].concat()
}

/// The last event of a stream that the client may want again: how long to wait before that, and a message.
pub fn closing(message: &[u8]) -> Vec<u8> {
    [retry().as_bytes(), &event(None, message)].concat()
}

/// The first event of a resumable stream: an id to resume from, and how long to wait before reconnecting.
pub fn priming(id: &str) -> String {
    format!("id: {id}\n{}data:\n\n", retry())
}

fn retry() -> String {
    format!("retry: {}\n", RETRY_DELAY.as_millis())
}
