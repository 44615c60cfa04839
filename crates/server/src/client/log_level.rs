//! The minimum severity of the log messages that a client receives.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use proxy_wire::LoggingLevel;

/// The level that a session has set with `logging/setLevel`.
#[derive(Debug)]
pub(crate) struct SessionLogLevel(AtomicU8);

/// No level is set: the client receives every message.
const UNSET: u8 = u8::MAX;

/// The log level of a client.
#[derive(Clone, Debug)]
pub(crate) enum ClientLogLevel {
    /// The level of a session, which may change.
    Session(Arc<SessionLogLevel>),
    /// The level in a stateless request. `None`: the client receives no log messages.
    Request(Option<LoggingLevel>),
}

impl ClientLogLevel {
    pub(crate) fn new_session() -> Self {
        ClientLogLevel::Session(Arc::new(SessionLogLevel(AtomicU8::new(UNSET))))
    }

    /// The minimum severity, if one is set. Servers are asked for the same level.
    pub(super) fn threshold(&self) -> Option<LoggingLevel> {
        match self {
            ClientLogLevel::Session(level) => {
                LoggingLevel::ALL.get(usize::from(level.0.load(Ordering::Relaxed))).copied()
            }
            ClientLogLevel::Request(level) => *level,
        }
    }

    /// Whether the client receives messages of this severity.
    pub(super) fn includes(&self, severity: LoggingLevel) -> bool {
        match (self, self.threshold()) {
            (_, Some(minimum)) => severity >= minimum,
            (ClientLogLevel::Session(_), None) => true,
            (ClientLogLevel::Request(_), None) => false,
        }
    }
}

impl SessionLogLevel {
    pub(crate) fn set(&self, severity: LoggingLevel) {
        self.0.store(severity as u8, Ordering::Relaxed);
    }
}
