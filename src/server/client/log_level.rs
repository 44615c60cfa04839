//! The least severity of log messages that a client receives.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::wire::Severity;

/// The level of a session, until another is set.
#[derive(Debug)]
pub(crate) struct SessionLevel(AtomicU8);

/// Nothing was said yet: the server chooses.
const UNSET: u8 = u8::MAX;

#[derive(Clone, Debug)]
pub(crate) enum Level {
    Session(Arc<SessionLevel>),
    /// A stateless client says it with every request, or wants none.
    Request(Option<Severity>),
}

impl Level {
    pub(crate) fn new_session() -> Self {
        Level::Session(Arc::new(SessionLevel(AtomicU8::new(UNSET))))
    }

    /// What servers are asked for.
    pub(crate) fn wanted(&self) -> Option<Severity> {
        match self {
            Level::Session(level) => Severity::ALL.get(usize::from(level.0.load(Ordering::Relaxed))).copied(),
            Level::Request(level) => *level,
        }
    }

    /// Whether a message is for this client.
    pub(crate) fn takes(&self, severity: Severity) -> bool {
        match (self, self.wanted()) {
            (_, Some(wanted)) => severity >= wanted,
            (Level::Session(_), None) => true,
            (Level::Request(_), None) => false,
        }
    }
}

impl SessionLevel {
    pub(crate) fn set(&self, severity: Severity) {
        self.0.store(severity as u8, Ordering::Relaxed);
    }
}
