//! What happened while a request ran, beside the calls of servers.

use std::time::SystemTime;

/// Something that happened at one moment of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallEvent {
    pub at: SystemTime,
    pub kind: CallEventKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallEventKind {
    /// The client was asked something, by the script or by a server that it calls.
    Asked { message: String },
    /// A rate limit was exceeded.
    RateLimited,
    /// `cached()` had the result.
    CacheHit,
    /// The script logged something.
    Logged { level: &'static str, message: String },
}

impl CallEventKind {
    /// The name of the event in a trace, and its kind in JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            CallEventKind::Asked { .. } => "elicit",
            CallEventKind::RateLimited => "rate limited",
            CallEventKind::CacheHit => "cache hit",
            CallEventKind::Logged { .. } => "log",
        }
    }

    /// The text of a question or of a line of the log.
    pub fn message(&self) -> Option<&str> {
        match self {
            CallEventKind::Asked { message } | CallEventKind::Logged { message, .. } => Some(message),
            CallEventKind::RateLimited | CallEventKind::CacheHit => None,
        }
    }
}
