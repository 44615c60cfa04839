//! The end of a client's session in this process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio_util::sync::CancellationToken;

/// Says when the session of a client is over in this process. Clones are of the same session.
#[derive(Clone, Debug, Default)]
pub struct SessionEnd {
    over: CancellationToken,
    may_continue: Arc<AtomicBool>,
}

impl SessionEnd {
    /// The session has ended everywhere.
    pub fn end(&self) {
        self.over.cancel();
    }

    /// This process forgets the session. It may continue in another process, or later in this one.
    pub fn leave(&self) {
        self.may_continue.store(true, Ordering::Relaxed);
        self.over.cancel();
    }

    pub fn is_over(&self) -> bool {
        self.over.is_cancelled()
    }

    /// Whether the session was only forgotten.
    pub(crate) fn may_continue(&self) -> bool {
        self.may_continue.load(Ordering::Relaxed)
    }

    /// Completes when the session is over in this process.
    pub(crate) async fn over(&self) {
        self.over.cancelled().await;
    }
}
