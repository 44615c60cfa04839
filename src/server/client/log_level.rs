//! Which log messages a client wants.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use serde_json::json;

use super::client::{Asked, Outcome};
use crate::json::{Object, RawRef};
use crate::server::Server;
use crate::wire::{RpcError, Severity};

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

impl Server {
    /// `logging/setLevel`: for all that comes in this session from now on.
    pub(crate) fn set_level(&self, asked: &Asked<'_>) -> Outcome {
        let body = asked.request.params.as_deref().unwrap_or(RawRef::EMPTY_OBJECT);
        let wanted = Object::of(body).ok().and_then(|params| params.string("level"));
        let severity = wanted.as_deref().and_then(Severity::parse);
        let (Some(severity), Level::Session(level)) = (severity, &asked.client.level) else {
            let known: Vec<&str> = Severity::ALL.into_iter().map(Severity::as_str).collect();
            let message = format!("`level` must be one of {}", known.join(", "));
            return Some(Err(RpcError::invalid_params(&message)));
        };
        level.0.store(severity as u8, Ordering::Relaxed);
        Some(Ok(crate::json::raw(&json!({}))))
    }
}
