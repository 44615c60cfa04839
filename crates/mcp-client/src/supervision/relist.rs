//! Keeps the lists of the main connection up to date: lists everything once, and again what the server announces as changed.

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::lists::ability_sets::AbilitySets;
use super::lists::current_lists::{CurrentLists, ListError};
use super::lists::relisting::Relisting;
use super::publisher::Publisher;
use super::restart::RestartOutcome;
use super::supervised::{ConnectionState, SupervisedServer};
use crate::connection::Connection;
use proxy_model::ItemKind;

/// How a connection ended.
pub(super) struct ConnectionEnd {
    pub(super) cause: ListError,
    /// Whether the tools could be listed before it ended, so that the server has worked.
    pub(super) was_listed: bool,
}

/// Lists all items and follows changes until the connection ends.
pub(super) async fn follow_lists(
    server: &SupervisedServer,
    publisher: &mut Publisher,
    connection: &Connection,
    state: &watch::Sender<ConnectionState>,
    stop: &CancellationToken,
) -> ConnectionEnd {
    let (mut current, mut relisting) = (CurrentLists::default(), Relisting::default());
    let mut sets = AbilitySets::default();
    let mut kinds = ItemKind::ALL.to_vec();
    let log_in = &server.connector.log_in;
    let cause = loop {
        let withdrawal = publisher.withdraw_lists_after_grace(&server.connector);
        let was_listed = current.was_listed;
        let failed = tokio::select! {
            outcome = async {
                let listed = current.list(&server.name, connection, &kinds, server.limits.idle).await?;
                publisher.publish_ready(connection, current.lists.clone(), current.all_reports()).await;
                state.send_if_modified(|state| state.settle(RestartOutcome::Ready));
                let failed = listed.record(connection, &server.freshness);
                sets.list(&server.variants, connection, &current.lists, &kinds, server.limits.idle).await;
                connection.signals().listed(&kinds);
                state.send_if_modified(|state| !std::mem::replace(&mut state.is_listed, true));
                Ok(failed)
            } => match outcome {
                Ok(failed) => failed,
                Err(error) => break error,
            },
            needed = log_in.needed() => break ListError::LoginNeeded(needed),
            reason = connection.closed() => break ListError::Failed(reason),
            // A connection without a first listing does not extend the grace period of the cached lists.
            never = withdrawal, if !was_listed => match never {},
            () = stop.cancelled() => break ListError::Failed(String::new()),
        };
        kinds = tokio::select! {
            kinds = relisting.next(connection.signals(), failed) => kinds,
            needed = log_in.needed() => break ListError::LoginNeeded(needed),
            reason = connection.closed() => break ListError::Failed(reason),
            () = stop.cancelled() => break ListError::Failed(String::new()),
        };
        tracing::debug!(server = %server.name, ?kinds, "listing again");
    };
    ConnectionEnd { cause, was_listed: current.was_listed }
}
