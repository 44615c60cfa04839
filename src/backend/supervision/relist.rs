//! What a connected server offers, for as long as the connection lives: listed once, and again whenever it changes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::supervisor::Supervisor;
use crate::backend::connection::established::Connection;
use crate::backend::connection::listing;
use crate::backend::connection::listing::Listing;
use crate::backend::transport::any_transport::TransportError;
use crate::backend::transport::signals::Signals;
use crate::model::{ItemKind, Lists};
use crate::wire::code;

/// Between two listings: a server that announces a change on every listing must not keep us busy.
const BREATH: Duration = Duration::from_millis(50);
/// Before what failed is listed again; doubles up to the longest.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(30);
/// How often in a row the tools of a server behind an address may fail to be listed before it is met anew: it may be
/// another server by now, of another era.
const MEET_ANEW_AFTER: u32 = 3;

/// How a connection ended.
pub(crate) struct Ended {
    pub(crate) reason: String,
    /// Whether the server was of any use before: its tools were listed.
    pub(crate) listed: bool,
}

/// What this connection has shown so far.
#[derive(Default)]
struct Shown {
    listed: bool,
    lists: Lists,
    reports: HashMap<ItemKind, Vec<String>>,
    /// How often in a row the tools could not be listed.
    failures: u32,
}

/// Lists, then watches until the connection ends.
pub(crate) async fn follow(owner: &mut Supervisor, connection: &Connection, stop: &CancellationToken) -> Ended {
    let (mut shown, mut retry) = (Shown::default(), Duration::ZERO);
    let mut kinds = ItemKind::ALL.to_vec();
    let reason = loop {
        let grace = owner.grace_over();
        let before = shown.listed;
        let failed = tokio::select! {
            outcome = shown.list(owner, connection, &kinds) => match outcome {
                Ok(failed) => failed,
                Err(reason) => break reason,
            },
            reason = connection.closed() => break reason,
            // Being connected is not enough to keep old lists alive.
            () = grace, if !before => break String::new(),
            () = stop.cancelled() => break String::new(),
        };
        retry = if failed.is_empty() { Duration::ZERO } else { (retry * 2).clamp(FIRST_RETRY, LONGEST_RETRY) };
        kinds = tokio::select! {
            kinds = next(connection.signals(), failed, retry) => kinds,
            reason = connection.closed() => break reason,
            () = stop.cancelled() => break String::new(),
        };
        tracing::debug!(server = %owner.name, ?kinds, "listing again");
    };
    Ended { reason, listed: shown.listed }
}

/// Waits until there is something to list: what changed, or what failed before.
async fn next(signals: &Signals, failed: Vec<ItemKind>, retry: Duration) -> Vec<ItemKind> {
    sleep(BREATH).await;
    if failed.is_empty() {
        return signals.changed().await;
    }
    let mut kinds = failed;
    tokio::select! {
        () = sleep(retry) => {}
        changed = signals.changed() => {
            kinds.extend(changed);
            kinds = ItemKind::ALL.into_iter().filter(|kind| kinds.contains(kind)).collect();
            // News cut the pause short, but a server that fails and announces in turns gets no loop out of it.
            sleep(FIRST_RETRY).await;
        }
    }
    kinds
}

impl Shown {
    /// Lists those kinds and shows the outcome; which of them are worth another try. What was shown before stays where
    /// a listing fails.
    async fn list(
        &mut self,
        owner: &mut Supervisor,
        connection: &Connection,
        kinds: &[ItemKind],
    ) -> Result<Vec<ItemKind>, String> {
        let (mut failed, mut fresh) = (Vec::new(), Vec::new());
        for kind in kinds {
            if connection.info().capabilities.get(kind.capability()).is_none() {
                continue;
            }
            let reports = match list_in_time(connection, *kind, owner.server.timeout).await {
                Ok(listing) => {
                    if *kind == ItemKind::Tool {
                        self.failures = 0;
                    }
                    *self.lists.of_mut(*kind) = listing.items;
                    fresh.push((*kind, listing.cache_hint));
                    listing.reports
                }
                // Tools are what a server is for; a server that fails at the rest is still of use.
                Err(failure) if *kind == ItemKind::Tool && self.gives_up(connection) => return Err(failure.reason),
                Err(failure) => {
                    if failure.try_again {
                        failed.push(*kind);
                    }
                    fresh.push((*kind, None));
                    vec![failure.reason]
                }
            };
            self.report(&owner.name, *kind, reports);
        }
        self.listed = true;
        connection.remember(&self.lists.tools);
        let reports = ItemKind::ALL.iter().filter_map(|kind| self.reports.get(kind)).flatten().cloned().collect();
        owner.show(connection.info(), self.lists.clone(), reports).await;
        for (kind, cache_hint) in fresh {
            owner.handle.freshness.listed(kind, cache_hint, connection.announces(kind));
        }
        Ok(failed)
    }

    /// After a failure: whether the connection is of no more use. Once it was, calls on it are worth more than news.
    fn gives_up(&mut self, connection: &Connection) -> bool {
        self.failures += 1;
        !self.listed || (connection.may_be_replaced() && self.failures >= MEET_ANEW_AFTER)
    }

    /// Says only what is new: a listing that fails again and again need not fill the log.
    fn report(&mut self, server: &Arc<str>, kind: ItemKind, reports: Vec<String>) {
        let known = self.reports.insert(kind, reports.clone()).unwrap_or_default();
        for report in reports.iter().filter(|report| !known.contains(report)) {
            tracing::warn!(%server, "{report}");
        }
    }
}

struct Failure {
    reason: String,
    try_again: bool,
}

async fn list_in_time(connection: &Connection, kind: ItemKind, limit: Duration) -> Result<Listing, Failure> {
    let method = kind.list_method();
    match tokio::time::timeout(limit, listing::list(connection, kind)).await {
        Ok(Ok(listing)) => Ok(listing),
        Ok(Err(error)) => Err(Failure {
            // Not having the method is an answer that will not change; only tools were there before.
            try_again: kind == ItemKind::Tool
                || !matches!(&error, TransportError::Rpc(error) if error.code() == code::METHOD_NOT_FOUND),
            reason: format!("`{method}` failed: {error}"),
        }),
        Err(_) => Err(Failure { reason: format!("`{method}` was not answered in time"), try_again: true }),
    }
}
