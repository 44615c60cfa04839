//! Events during a request, apart from server calls.

use std::time::SystemTime;

/// Something that happened at one moment of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedEvent {
    pub at: SystemTime,
    pub kind: RecordedEventKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordedEventKind {
    /// The client was asked something, by the script or by a server that it calls.
    Asked { message: String },
    /// The client has answered: `accept`, `decline` or `cancel`, and what was filled in.
    Answered { action: String, content: Option<String> },
    /// A rate limit was exceeded.
    RateLimited,
    /// `cached()` had the result.
    CacheHit,
    /// A call of a server failed and is made again.
    Retry,
    /// The script logged something.
    Logged { level: &'static str, message: String },
}

impl RecordedEventKind {
    /// The name of the event in a trace, and its kind in JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            RecordedEventKind::Asked { .. } => "elicit",
            RecordedEventKind::Answered { .. } => "answer",
            RecordedEventKind::RateLimited => "rate limited",
            RecordedEventKind::CacheHit => "cache hit",
            RecordedEventKind::Retry => "retry",
            RecordedEventKind::Logged { .. } => "log",
        }
    }

    /// The text of a question or of a line of the log, or the action of an answer.
    pub fn message(&self) -> Option<&str> {
        match self {
            RecordedEventKind::Asked { message } | RecordedEventKind::Logged { message, .. } => Some(message),
            RecordedEventKind::Answered { action, .. } => Some(action),
            RecordedEventKind::RateLimited | RecordedEventKind::CacheHit | RecordedEventKind::Retry => None,
        }
    }
}
