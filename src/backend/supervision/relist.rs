//! Keeps the lists of a connected server up to date: lists everything once, and again what the server announces as changed.
//! Follows the main connection, and those on which other clients see other lists.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::freshness::Freshness;
use super::publisher::Publisher;
use super::supervised::SupervisedServer;
use super::variants::Variants;
use crate::backend::call::CacheHint;
use crate::backend::connection::{Connection, ServerListing, list};
use crate::backend::transport::{Signals, TransportError};
use crate::backoff::Backoff;
use crate::model::{ItemKind, Lists};
use crate::wire::code;

/// The pause between two listings, for a server that announces a change after every listing.
const MIN_INTERVAL: Duration = Duration::from_millis(50);
/// How long a list may take, unless `timeout` is shorter: without its lists a server is of no use to anybody.
const LIST_TIMEOUT: Duration = Duration::from_secs(60);
/// The delays before a failed listing is repeated.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const MAX_RETRY: Duration = Duration::from_secs(30);
/// After this many consecutive failures to list the tools at a URL the connection is made anew: a server of another era
/// may be answering there by now.
const RECONNECT_AFTER: u32 = 3;

/// How a connection ended.
pub(super) struct ConnectionEnd {
    pub(super) reason: String,
    /// Whether the tools could be listed before it ended, so that the server has worked.
    pub(super) was_listed: bool,
}

/// The lists that a connection has returned so far.
#[derive(Default)]
pub(super) struct CurrentLists {
    was_listed: bool,
    lists: Lists,
    reports: HashMap<ItemKind, Vec<String>>,
    /// Consecutive failures to list the tools.
    tool_failures: u32,
}

/// Lists all items and follows changes until the connection ends.
pub(super) async fn follow_lists(
    server: &SupervisedServer,
    publisher: &mut Publisher,
    connection: &Connection,
    stop: &CancellationToken,
) -> ConnectionEnd {
    let (mut current, mut backoff) = (CurrentLists::default(), Backoff::new(FIRST_RETRY, MAX_RETRY));
    let mut kinds = ItemKind::ALL.to_vec();
    let reason = loop {
        let withdrawal = publisher.withdraw_lists_after_grace();
        let was_listed = current.was_listed;
        let failed = tokio::select! {
            outcome = async {
                let listed = current.list(&server.name, connection, &kinds, server.limits.idle).await?;
                publisher.publish_ready(connection, current.lists.clone(), current.all_reports()).await;
                Ok(listed.record(connection, &server.freshness))
            } => match outcome {
                Ok(failed) => failed,
                Err(reason) => break reason,
            },
            reason = connection.closed() => break reason,
            // A connection without a first listing does not extend the grace period of the cached lists.
            never = withdrawal, if !was_listed => match never {},
            () = stop.cancelled() => break String::new(),
        };
        let retry = if failed.is_empty() {
            backoff.reset();
            None
        } else {
            Some(backoff.next_delay())
        };
        kinds = tokio::select! {
            kinds = wait_for_changes(connection.signals(), failed, retry) => kinds,
            reason = connection.closed() => break reason,
            () = stop.cancelled() => break String::new(),
        };
        tracing::debug!(server = %server.name, ?kinds, "listing again");
    };
    ConnectionEnd { reason, was_listed: current.was_listed }
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
    let mut kinds = ItemKind::ALL.to_vec();
    loop {
        let failed = match current.list(server, connection, &kinds, timeout).await {
            Ok(listed) => {
                if !variants.publish(profile, connection.info(), &current.lists).await {
                    return;
                }
                listed.record(connection, &followed.freshness)
            }
            Err(reason) => {
                tracing::warn!(%server, "{reason}");
                if current.was_listed { vec![ItemKind::Tool] } else { ItemKind::ALL.to_vec() }
            }
        };
        let retry = if failed.is_empty() {
            backoff.reset();
            None
        } else {
            Some(backoff.next_delay())
        };
        kinds = wait_for_changes(connection.signals(), failed, retry).await;
    }
}

/// The outcome of one listing.
pub(super) struct Listed {
    failed: Vec<ItemKind>,
    cache_hints: Vec<(ItemKind, Option<CacheHint>)>,
}

impl Listed {
    /// Whether everything that the server has could be listed.
    pub(super) fn is_complete(&self) -> bool {
        self.failed.is_empty()
    }

    /// Records the age of the lists and returns the kinds to try again.
    fn record(self, connection: &Connection, freshness: &Freshness) -> Vec<ItemKind> {
        for (kind, cache_hint) in self.cache_hints {
            freshness.record_listing(kind, cache_hint, connection.announces_changes(kind));
        }
        self.failed
    }
}

impl CurrentLists {
    pub(super) fn lists(&self) -> &Lists {
        &self.lists
    }

    /// Lists items of these kinds. A list whose listing fails keeps its previous content. An error means that the connection
    /// has to be given up.
    pub(super) async fn list(
        &mut self,
        server: &Arc<str>,
        connection: &Connection,
        kinds: &[ItemKind],
        timeout: Duration,
    ) -> Result<Listed, String> {
        let (mut failed, mut listed) = (Vec::new(), Vec::new());
        for kind in kinds {
            if connection.info().capabilities.get(kind.capability()).is_none() {
                continue;
            }
            let reports = match list_in_time(connection, *kind, timeout).await {
                Ok(listing) => {
                    if *kind == ItemKind::Tool {
                        self.tool_failures = 0;
                    }
                    *self.lists.of_mut(*kind) = listing.items;
                    listed.push((*kind, listing.cache_hint));
                    listing.reports
                }
                // A server that cannot list its tools is of no use; other lists are optional.
                Err(failure) if *kind == ItemKind::Tool && self.must_reconnect(connection) => {
                    return Err(failure.reason);
                }
                // What a server that dies in the middle has listed so far is not what it offers.
                Err(failure) if failure.is_lost && !self.was_listed => return Err(failure.reason),
                Err(failure) => {
                    if failure.may_retry {
                        failed.push(*kind);
                    }
                    listed.push((*kind, None));
                    vec![failure.reason]
                }
            };
            self.log_new_reports(server, *kind, reports);
        }
        self.was_listed = true;
        connection.remember_param_headers(&self.lists.tools);
        Ok(Listed { failed, cache_hints: listed })
    }

    fn all_reports(&self) -> Vec<String> {
        ItemKind::ALL.iter().filter_map(|kind| self.reports.get(kind)).flatten().cloned().collect()
    }

    /// Whether a failure to list the tools means that the connection has to be given up. A connection that has worked is
    /// kept for its calls, unless another server may be answering.
    fn must_reconnect(&mut self, connection: &Connection) -> bool {
        self.tool_failures += 1;
        !self.was_listed || (connection.may_be_replaced() && self.tool_failures >= RECONNECT_AFTER)
    }

    /// Logs the reports that the previous listing of this kind did not have.
    fn log_new_reports(&mut self, server: &Arc<str>, kind: ItemKind, reports: Vec<String>) {
        let known = self.reports.insert(kind, reports.clone()).unwrap_or_default();
        for report in reports.iter().filter(|report| !known.contains(report)) {
            tracing::warn!(%server, "{report}");
        }
    }
}

struct ListFailure {
    reason: String,
    may_retry: bool,
    /// Whether the connection was lost.
    is_lost: bool,
}

async fn list_in_time(
    connection: &Connection,
    kind: ItemKind,
    timeout: Duration,
) -> Result<ServerListing, ListFailure> {
    let method = kind.list_method();
    match tokio::time::timeout(timeout.min(LIST_TIMEOUT), list(connection, kind)).await {
        Ok(Ok(listing)) => Ok(listing),
        Ok(Err(error)) => Err(ListFailure {
            // "Method not found" is final, except for tools, which were listed before.
            may_retry: kind == ItemKind::Tool
                || !matches!(&error, TransportError::Rpc(error) if error.code() == code::METHOD_NOT_FOUND),
            is_lost: matches!(error, TransportError::Closed(_)),
            reason: format!("`{method}` failed: {error}"),
        }),
        Err(_) => Err(ListFailure { reason: format!("`{method}` timed out"), may_retry: true, is_lost: false }),
    }
}
