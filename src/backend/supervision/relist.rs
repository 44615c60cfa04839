//! Keeps the lists of a connected server up to date: lists everything once, and again what the server announces as changed.
//! Follows the main connection, and those on which other clients see other lists.

use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::ability_sets::AbilitySets;
use super::current_lists::CurrentLists;
use super::publisher::Publisher;
use super::supervised::SupervisedServer;
use super::variants::Variants;
use crate::backend::connection::Connection;
use crate::backend::transport::Signals;
use crate::backoff::Backoff;
use crate::model::ItemKind;

/// The pause between two listings, for a server that announces a change after every listing.
const MIN_INTERVAL: Duration = Duration::from_millis(50);
/// The delays before a failed listing is repeated.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const MAX_RETRY: Duration = Duration::from_secs(30);

/// How a connection ended.
pub(super) struct ConnectionEnd {
    pub(super) reason: String,
    /// Whether the tools could be listed before it ended, so that the server has worked.
    pub(super) was_listed: bool,
}

/// Lists all items and follows changes until the connection ends.
pub(super) async fn follow_lists(
    server: &SupervisedServer,
    publisher: &mut Publisher,
    connection: &Connection,
    stop: &CancellationToken,
) -> ConnectionEnd {
    let (mut current, mut backoff) = (CurrentLists::default(), Backoff::new(FIRST_RETRY, MAX_RETRY));
    let mut sets = AbilitySets::default();
    let mut kinds = ItemKind::ALL.to_vec();
    let reason = loop {
        let withdrawal = publisher.withdraw_lists_after_grace();
        let was_listed = current.was_listed;
        let failed = tokio::select! {
            outcome = async {
                let listed = current.list(&server.name, connection, &kinds, server.limits.idle).await?;
                publisher.publish_ready(connection, current.lists.clone(), current.all_reports()).await;
                let failed = listed.record(connection, &server.freshness);
                sets.list(&server.variants, connection, &current.lists, &kinds, server.limits.idle).await;
                Ok(failed)
            } => match outcome {
                Ok(failed) => failed,
                Err(reason) => break reason,
            },
            reason = connection.closed() => break reason,
            // A connection without a first listing does not extend the grace period of the cached lists.
            never = withdrawal, if !was_listed => match never {},
            () = stop.cancelled() => break String::new(),
        };
        let retry = next_retry(&failed, &mut backoff);
        kinds = tokio::select! {
            kinds = wait_for_changes(connection.signals(), failed, retry) => kinds,
            reason = connection.closed() => break reason,
            () = stop.cancelled() => break String::new(),
        };
        tracing::debug!(server = %server.name, ?kinds, "listing again");
    };
    ConnectionEnd { reason, was_listed: current.was_listed }
}

/// The delay before failed listings are repeated. `None` if there are none.
fn next_retry(failed: &[ItemKind], backoff: &mut Backoff) -> Option<Duration> {
    if failed.is_empty() {
        backoff.reset();
        return None;
    }
    Some(backoff.next_delay())
}

/// Waits until lists have changed, or until the failed ones are due again. Returns the kinds to list.
async fn wait_for_changes(signals: &Signals, failed: Vec<ItemKind>, retry: Option<Duration>) -> Vec<ItemKind> {
    sleep(MIN_INTERVAL).await;
    let Some(retry) = retry else { return signals.changed().await };
    let mut kinds = failed;
    tokio::select! {
        () = sleep(retry) => {}
        changed = signals.changed() => {
            kinds.extend(changed);
            kinds = ItemKind::ALL.into_iter().filter(|kind| kinds.contains(kind)).collect();
            // A change shortens the delay, but a server that announces changes and fails to list them must not cause a
            // busy loop.
            sleep(FIRST_RETRY).await;
        }
    }
    kinds
}

/// Lists all items on a connection beside the main one and follows changes, until the connection or the lists are of no
/// use.
pub(super) async fn follow_variant(variants: &Variants, connection: &Connection, timeout: Duration) {
    let (mut current, mut backoff) = (CurrentLists::default(), Backoff::new(FIRST_RETRY, MAX_RETRY));
    let (profile, server) = (connection.profile(), connection.server_name());
    let followed = variants.follow(profile, connection.signals());
    let mut sets = AbilitySets::default();
    let mut kinds = ItemKind::ALL.to_vec();
    loop {
        let failed = match current.list(server, connection, &kinds, timeout).await {
            Ok(listed) => {
                if !variants.publish(profile, connection.info(), &current.lists).await {
                    return;
                }
                let failed = listed.record(connection, &followed.freshness);
                sets.list(variants, connection, &current.lists, &kinds, timeout).await;
                failed
            }
            Err(reason) => {
                tracing::warn!(%server, "{reason}");
                // The rest of these kinds has not been listed either.
                kinds.clone()
            }
        };
        let retry = next_retry(&failed, &mut backoff);
        kinds = wait_for_changes(connection.signals(), failed, retry).await;
    }
}
