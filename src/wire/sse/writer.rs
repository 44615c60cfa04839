//! Encodes events.

use std::time::Duration;

/// A comment that keeps proxies from closing a silent stream.
pub const KEEP_ALIVE: &str = ": keep-alive\n\n";

/// An event with a message, which must be on one line.
pub fn event(id: Option<&str>, message: &[u8]) -> Vec<u8> {
    let id = id.map_or_else(String::new, |id| format!("id: {id}\n"));
    [id.as_bytes(), b"data: ", message, b"\n\n"].concat()
}

/// The first event of a resumable stream: an id to resume from, and how long to wait before reconnecting.
pub fn priming(id: &str, retry: Duration) -> String {
    format!("id: {id}\nretry: {}\ndata:\n\n", retry.as_millis())
}
