//! Requests a restart and waits for its outcome. `supervisor.rs` performs it, and also reconnects dead servers.

use super::supervised::{ConnectionState, SupervisedServer};

/// How a restart ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartOutcome {
    /// The server is connected, and its lists are published.
    Ready,
    /// The first attempt to connect failed. Others follow as usual.
    Failed,
    /// The server waits for a log-in.
    LoginNeeded,
}

impl ConnectionState {
    /// Notes how the first attempt after a restart ended. Returns whether that was not known yet.
    pub(super) fn settle(&mut self, outcome: RestartOutcome) -> bool {
        let is_first = self.restart_outcome.is_none();
        if is_first {
            self.restart_outcome = Some(outcome);
        }
        is_first
    }
}

impl SupervisedServer {
    /// Restarts the server and waits until it is ready or the first attempt has failed. Dropping the future does not
    /// stop the restart.
    pub(crate) async fn restart(&self) -> RestartOutcome {
        let mut state = self.state.clone();
        let before = state.borrow_and_update().restarts;
        self.restart_wanted.notify_one();
        // Somebody wants it to run.
        let _hold = self.holds.hold();
        if self.rests() {
            self.reconnect_now.notify_one();
        }
        let is_over = |state: &ConnectionState| state.restarts > before && state.restart_outcome.is_some();
        let over = state.wait_for(is_over).await.ok().and_then(|state| state.restart_outcome);
        // There is no supervisor any more: the proxy is shutting down, or the server was removed.
        over.unwrap_or(RestartOutcome::Failed)
    }
}
