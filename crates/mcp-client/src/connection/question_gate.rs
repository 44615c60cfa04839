//! What stands before the questions that servers ask while no call runs.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::call::Peer;

/// Decides about the answers to the questions of a server.
pub trait QuestionGuard: Send + Sync {
    /// The client, for the questions of this server.
    fn guarded(&self, server: &Arc<str>, peer: &Arc<dyn Peer>) -> Arc<dyn Peer>;
}

/// The guard, once there is one.
#[derive(Clone, Default)]
pub struct QuestionGate(Arc<OnceLock<Box<dyn QuestionGuard>>>);

impl QuestionGate {
    /// Sets the guard. The first one stays.
    pub fn set(&self, guard: impl QuestionGuard + 'static) {
        let _ = self.0.set(Box::new(guard));
    }

    pub(crate) fn guarded(&self, server: &Arc<str>, peer: &Arc<dyn Peer>) -> Arc<dyn Peer> {
        self.0.get().map_or_else(|| Arc::clone(peer), |guard| guard.guarded(server, peer))
    }
}

impl fmt::Debug for QuestionGate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("QuestionGate")
    }
}
