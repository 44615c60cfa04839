//! Lets a server rest that nothing needs, and measures what that saves.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use super::supervised::{ConnectionState, SupervisedServer};
use crate::connection::Connection;
use crate::transport::RunningProcess;
use proxy_base::process::memory_of_group;

/// How often it is looked whether a subscription, a task, a question or a side connection still needs the server.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Completes when nothing has needed the server for long enough. From then on it rests, and its connection is nobody's. Never
/// completes if the server is not to be stopped.
pub(super) async fn unneeded(
    server: &SupervisedServer,
    connection: &Connection,
    state: &watch::Sender<ConnectionState>,
) {
    // It was started for its lists at least.
    let listed = async { state.subscribe().wait_for(|state| state.is_listed).await.is_ok() };
    if server.holds.settings().is_none() || !listed.await {
        return std::future::pending().await;
    }
    let mut needed_at = Instant::now();
    loop {
        let unheld = server.holds.unheld().await;
        let Some(limit) = server.holds.idle_limit() else { return std::future::pending().await };
        let due = needed_at.max(unheld) + limit;
        if Instant::now() < due {
            sleep_until(due).await;
        } else if server.is_needed() || connection.has_open_questions() {
            needed_at = Instant::now();
            sleep(CHECK_INTERVAL).await;
        } else if server.holds.rest_unless_held(|| server.disconnect_unless_needed(state)) {
            return;
        } else {
            // Side connections end by themselves when they are unused.
            sleep(CHECK_INTERVAL).await;
        }
    }
}

/// The memory of these processes and their groups. `None` if there are none, or if the system does not tell.
pub(super) async fn memory_of(processes: Vec<RunningProcess>) -> Option<u64> {
    let measure = move || {
        let measured = processes.iter().filter_map(|process| memory_of_group(process.id));
        measured.reduce(|sum, one| sum + one)
    };
    tokio::task::spawn_blocking(measure).await.ok().flatten()
}

impl SupervisedServer {
    /// Whether something needs the server that is no request.
    pub(super) fn is_needed(&self) -> bool {
        !self.subscriptions.is_empty() || self.side_connections.have_subscriptions() || self.holds.tasks.any()
    }

    /// Disconnects unless a request that has just ended has left something behind that needs the server.
    pub(super) fn disconnect_unless_needed(&self, state: &watch::Sender<ConnectionState>) -> bool {
        let is_unneeded = !self.is_needed() && self.side_connections.is_empty();
        if is_unneeded {
            self.disconnect(state);
        }
        is_unneeded
    }

    /// Takes the connection away from all later requests. Requests to connect that came before are forgotten: they were
    /// served.
    pub(super) fn disconnect(&self, state: &watch::Sender<ConnectionState>) {
        let _ = self.reconnect_now.notified().now_or_never();
        state.send_modify(|state| state.connection = None);
    }

    /// Fetches the lists for the clients that connected while the server rested, once it is listed.
    pub(super) async fn prepare_missed(self: Arc<Self>) {
        // A connection that ends before leaves them to the next one.
        if self.state.clone().wait_for(|state| state.is_listed).await.is_err() {
            return;
        }
        for (profile, person) in self.holds.take_missed() {
            self.prepare(profile, &person).await;
        }
    }
}
