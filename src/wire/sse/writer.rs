//! Events as text.

use std::time::Duration;

/// A comment that keeps intermediaries from closing a silent stream.
pub const KEEP_ALIVE: &str = ": keep-alive\n\n";

/// A message as an event. The message is one line already.
pub fn event(id: Option<&str>, message: &str) -> String {
    match id {
        Some(id) => format!("id: {id}\ndata: {message}\n\n"),
        None => format!("data: {message}\n\n"),
    }
}

/// The first event of a resumable stream: an id to come back with, and when.
pub fn priming(id: &str, retry: Duration) -> String {
    format!("id: {id}\nretry: {}\ndata:\n\n", retry.as_millis())
}
