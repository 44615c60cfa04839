//! What goes wrong with a request, by order of the test.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::support::patience::within;
use crate::support::stderr_log::StderrLog;

#[derive(Clone, Debug)]
pub enum Fault {
    /// This status, without doing anything.
    Status(u16),
    /// This error of OAuth, without doing anything.
    Error(&'static str),
    /// The connection is closed, without doing anything.
    Reset,
    /// The work is done and the answer is lost.
    AnswerLost,
    /// Waits before it does anything.
    HoldRequest(Hold),
    /// Does the work and waits with the answer.
    HoldAnswer(Hold),
}

/// A request that waits until the test lets it go on.
#[derive(Clone, Debug)]
pub struct Hold(Arc<(Semaphore, Semaphore)>);

impl Hold {
    pub fn new() -> Self {
        Self(Arc::new((Semaphore::new(0), Semaphore::new(0))))
    }

    /// The request is here, and waits.
    pub async fn arrived(&self, log: &StderrLog) {
        let arrived = within("a request to be held", log, self.0.0.acquire()).await;
        arrived.expect("it is never closed").forget();
    }

    pub fn release(&self) {
        self.0.1.add_permits(1);
    }

    pub(super) async fn wait(&self) {
        self.0.0.add_permits(1);
        self.0.1.acquire().await.expect("it is never closed").forget();
    }
}
