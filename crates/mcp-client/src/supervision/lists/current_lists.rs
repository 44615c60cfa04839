//! The lists of one connection, as they were listed last.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::freshness::Freshness;
use crate::call::CacheHint;
use crate::connection::{Connection, ServerListing, list};
use crate::transport::TransportError;
use proxy_model::{Abilities, ItemKind, Lists, LoginNeeded};
use proxy_wire::code;

/// How long a list may take, unless `timeout` is shorter: without its lists a server is of no use to anybody.
const LIST_TIMEOUT: Duration = Duration::from_secs(60);
/// After this many consecutive failures to list the tools at a URL the connection is made anew: a server of another era
/// may be answering there by now.
const RECONNECT_AFTER: u32 = 3;

/// The lists that a connection has returned so far.
#[derive(Default)]
pub(crate) struct CurrentLists {
    /// What a stateless server is told that the clients can be asked.
    abilities: Abilities,
    /// Whether there has been a listing.
    pub(crate) was_listed: bool,
    pub(crate) lists: Lists,
    reports: HashMap<ItemKind, Vec<String>>,
    /// Consecutive failures to list the tools.
    tool_failures: u32,
}

/// Why a connection has to be given up.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum ListError {
    /// Only a person can help, by a log-in.
    #[error("{0}")]
    LoginNeeded(LoginNeeded),
    #[error("{0}")]
    Failed(String),
}

/// The outcome of one listing.
pub(crate) struct ListingOutcome {
    failed: Vec<ItemKind>,
    cache_hints: Vec<(ItemKind, Option<CacheHint>)>,
}

impl ListingOutcome {
    /// Whether everything that the server has could be listed.
    pub(crate) fn is_complete(&self) -> bool {
        self.failed.is_empty()
    }

    /// Records the age of the lists and returns the kinds to try again.
    pub(crate) fn record(self, connection: &Connection, freshness: &Freshness) -> Vec<ItemKind> {
        for (kind, cache_hint) in self.cache_hints {
            freshness.record_listing(kind, cache_hint, connection.announces_changes(kind));
        }
        self.failed
    }
}

impl CurrentLists {
    /// Nothing listed yet, for clients with these abilities.
    pub(crate) fn of(abilities: Abilities) -> Self {
        CurrentLists { abilities, ..CurrentLists::default() }
    }

    /// Lists items of these kinds. A list whose listing fails keeps its previous content. An error means that the connection
    /// has to be given up.
    pub(crate) async fn list(
        &mut self,
        server: &Arc<str>,
        connection: &Connection,
        kinds: &[ItemKind],
        timeout: Duration,
    ) -> Result<ListingOutcome, ListError> {
        let (mut failed, mut listed) = (Vec::new(), Vec::new());
        for kind in kinds {
            if connection.info().capabilities.get(kind.capability()).is_none() {
                continue;
            }
            let reports = match list_in_time(connection, *kind, self.abilities, timeout).await {
                Ok(listing) => {
                    if *kind == ItemKind::Tool {
                        self.tool_failures = 0;
                    }
                    *self.lists.of_mut(*kind) = listing.items;
                    listed.push((*kind, listing.cache_hint));
                    listing.reports
                }
                Err(ListFailure { kind: FailureKind::LoginNeeded(needed), .. }) => {
                    return Err(ListError::LoginNeeded(needed));
                }
                // A server that cannot list its tools is of no use; other lists are optional.
                Err(ListFailure { kind: FailureKind::Forbidden(text), .. })
                    if *kind == ItemKind::Tool && !self.was_listed =>
                {
                    return Err(ListError::LoginNeeded(LoginNeeded(text)));
                }
                Err(failure) if *kind == ItemKind::Tool && !failure.is_settled() && self.must_reconnect(connection) => {
                    return Err(ListError::Failed(failure.reason));
                }
                // The partial lists of a server that dies while listing are not what it offers.
                Err(failure) if failure.kind == FailureKind::Lost && !self.was_listed => {
                    return Err(ListError::Failed(failure.reason));
                }
                Err(failure) => {
                    if !failure.is_settled() {
                        failed.push(*kind);
                    }
                    listed.push((*kind, None));
                    // Many servers with resources have no templates, and no way to say so.
                    let is_known = *kind == ItemKind::ResourceTemplate && failure.kind == FailureKind::Final;
                    if is_known { Vec::new() } else { vec![failure.reason] }
                }
            };
            self.log_new_reports(server, *kind, reports);
        }
        self.was_listed = true;
        connection.remember_param_headers(&self.lists.tools);
        Ok(ListingOutcome { failed, cache_hints: listed })
    }

    pub(crate) fn all_reports(&self) -> Vec<String> {
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
    kind: FailureKind,
}

impl ListFailure {
    /// Whether the same request would fail again, until the server or the log-in changes.
    fn is_settled(&self) -> bool {
        matches!(self.kind, FailureKind::Final | FailureKind::Forbidden(_))
    }
}

#[derive(Debug, PartialEq, Eq)]
enum FailureKind {
    Temporary,
    /// The server has no such list.
    Final,
    /// The connection was lost.
    Lost,
    LoginNeeded(LoginNeeded),
    /// The log-in lacks permission for this list. Everything is listed again when the log-in changes.
    Forbidden(String),
}

async fn list_in_time(
    connection: &Connection,
    kind: ItemKind,
    abilities: Abilities,
    timeout: Duration,
) -> Result<ServerListing, ListFailure> {
    let method = kind.list_method();
    match tokio::time::timeout(timeout.min(LIST_TIMEOUT), list(connection, kind, abilities)).await {
        Ok(Ok(listing)) => Ok(listing),
        Ok(Err(error)) => {
            let reason = format!("`{method}` failed: {error}");
            let kind = match error {
                TransportError::Closed(_) => FailureKind::Lost,
                TransportError::LoginNeeded(needed) => FailureKind::LoginNeeded(needed),
                TransportError::Forbidden(text) => FailureKind::Forbidden(text),
                // Tools were listed before.
                TransportError::Rpc(error) if error.code() == code::METHOD_NOT_FOUND && kind != ItemKind::Tool => {
                    FailureKind::Final
                }
                _ => FailureKind::Temporary,
            };
            Err(ListFailure { reason, kind })
        }
        Err(_) => {
            let limit = match timeout < LIST_TIMEOUT {
                true => format!("{} s (`timeout`)", timeout.as_secs_f32()),
                false => format!("{} s, the maximum for a list", LIST_TIMEOUT.as_secs()),
            };
            let reason = format!("`{method}` was not answered within {limit}");
            Err(ListFailure { reason, kind: FailureKind::Temporary })
        }
    }
}
