//! A connection beside the main one, and how it is used.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use super::side_holding::SideUse;
use crate::connection::{ConnectError, Connection, HeldConnection};
use crate::transport::ServerSubscriptions;
use proxy_model::Owner;

/// The outcome of opening a connection. `None` while it is being opened.
pub(super) type OpenOutcome = Option<Result<Arc<Connection>, ConnectError>>;

#[derive(Debug)]
pub(super) struct SideConnection {
    pub(super) outcome: watch::Receiver<OpenOutcome>,
    /// The person for whom it was opened.
    pub(super) opened_for: Option<Owner>,
    last_used: Mutex<Instant>,
    /// Whether a client has started a task on it, which goes on without calls.
    pub(super) has_tasks: AtomicBool,
    /// Set if other processes serve its client, too: this one holds it.
    pub(super) held: OnceLock<Arc<dyn HeldConnection>>,
}

impl SideConnection {
    pub(super) fn new(outcome: watch::Receiver<OpenOutcome>, opened_for: Option<Owner>) -> Self {
        let last_used = Mutex::new(Instant::now());
        let has_tasks = AtomicBool::new(false);
        SideConnection { outcome, opened_for, last_used, has_tasks, held: OnceLock::new() }
    }

    pub(super) fn held(&self) -> Option<&dyn HeldConnection> {
        self.held.get().map(|held| &**held)
    }

    pub(super) fn connection(&self) -> Option<Arc<Connection>> {
        self.outcome.borrow().as_ref().and_then(|outcome| outcome.as_ref().ok().cloned())
    }

    pub(super) fn touch(&self) {
        *self.last_used.lock() = Instant::now();
    }

    pub(super) fn idle_time(&self) -> Duration {
        self.last_used.lock().elapsed()
    }

    pub(super) fn use_now(&self, subscriptions: &ServerSubscriptions) -> SideUse {
        let is_followed = self.has_tasks.load(Ordering::Relaxed) || !subscriptions.is_empty();
        SideUse { unused_for: self.idle_time(), is_followed }
    }

    pub(super) fn is_busy(&self) -> bool {
        self.outcome.borrow().is_none() || self.connection().is_some_and(|connection| connection.is_busy())
    }
}
