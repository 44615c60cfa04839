//! Which process holds a side connection of one client, if several processes serve that client.

use std::sync::Arc;
use std::time::Duration;

use super::side_key::SideKey;
use crate::connection::{ConnectError, Connection, Connector, HeldConnection, NotHeld, OwnConnection};
use proxy_config::TransportConfig;
use proxy_model::{Era, Owner};

/// How long a connection must be unused before a process that exits gives it up: a call may send several requests.
const UNUSED_WHEN_LEAVING: Duration = Duration::from_millis(500);
/// How often a process that exits looks whether a connection is unused.
const LEAVING_CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// How long a connection must be unused before another process gets it that wants it: its client then has moved there.
const UNUSED_WHEN_WANTED: Duration = Duration::from_secs(30);

/// Why a side connection ends.
pub(super) enum SideEnd {
    /// It was closed, for this reason.
    Lost(String),
    /// The client's session is over in this process.
    SessionOver,
    /// Nobody has used it for long.
    Unused,
    /// Its clients are better served by the main connection.
    Unfollowed,
    /// The server is no longer used, or the process exits.
    Stopped,
    /// Another process holds it.
    Taken,
    /// Another process may hold it: no request uses it, and this process exits soon or the other one has asked for it.
    GivenUp,
}

/// How a connection is used now.
pub(super) struct SideUse {
    /// For how long no request has used it.
    pub(super) unused_for: Duration,
    /// Whether it has subscriptions or tasks, which go on without requests.
    pub(super) is_followed: bool,
}

/// Makes this process the holder of a connection. `None` if no other process serves its client.
pub(super) async fn hold(
    connector: &Connector,
    key: &SideKey,
) -> Result<Option<Arc<dyn HeldConnection>>, ConnectError> {
    let Some(owner @ (Owner::Session(_) | Owner::Person(_))) = &key.owner else { return Ok(None) };
    let is_url = !matches!(connector.server.transport, TransportConfig::Stdio { .. });
    if is_url && key.era == Era::Stateless {
        // The server knows nothing from one request to the next.
        return Ok(None);
    }
    let era = match key.era {
        Era::Session => "session",
        Era::Stateless => "stateless",
    };
    let name = format!("{} {era} {}", connector.name, key.abilities.to_capabilities());
    let connection = OwnConnection { owner: owner.clone(), name };
    let held = connector.environment().holders.hold(connection).await;
    held.map_err(|NotHeld(reason)| ConnectError::HeldElsewhere(reason))
}

/// A connection that this process holds.
pub(super) struct Holding {
    connector: Arc<Connector>,
    connection: Arc<Connection>,
    held: Arc<dyn HeldConnection>,
    /// Whether the next holder could go on with the session at the server.
    is_kept: bool,
}

impl Holding {
    /// Leaves the next holder what it takes to go on with the session at the server, before the first request: this process may
    /// end at any time.
    pub(super) async fn begin(
        connector: &Arc<Connector>,
        connection: &Arc<Connection>,
        held: &Arc<dyn HeldConnection>,
    ) -> Self {
        let session = connector.session_of(connection);
        if let Some(session) = session.as_ref().filter(|session| held.earlier() != Some(*session)) {
            held.keep(session).await;
        }
        Holding {
            connector: Arc::clone(connector),
            connection: Arc::clone(connection),
            held: Arc::clone(held),
            is_kept: session.is_some(),
        }
    }

    /// Waits until this process holds the connection no longer, or others may hold it.
    pub(super) async fn ends(&self, now: impl Fn() -> SideUse) -> SideEnd {
        let leaving = async {
            self.connector.environment().holders.leaving().await;
            while self.connection.is_busy() || now().unused_for < UNUSED_WHEN_LEAVING {
                tokio::time::sleep(LEAVING_CHECK_INTERVAL).await;
            }
        };
        let wanted = async {
            loop {
                self.held.wanted().await;
                let SideUse { unused_for, is_followed } = now();
                let is_used = self.connection.is_busy() || unused_for < UNUSED_WHEN_WANTED || is_followed;
                if !is_used && self.is_kept {
                    return;
                }
            }
        };
        tokio::select! {
            () = self.held.lost() => SideEnd::Taken,
            () = leaving => SideEnd::GivenUp,
            () = wanted => SideEnd::GivenUp,
        }
    }

    /// Stops the connection. If `goes_on`, the next holder goes on with the session at the server.
    pub(super) async fn stop(&self, goes_on: bool) {
        if goes_on {
            self.connection.leave_session();
            self.connection.stop().await;
            self.held.release().await;
        } else {
            self.held.end().await;
            self.connection.stop().await;
        }
    }
}
