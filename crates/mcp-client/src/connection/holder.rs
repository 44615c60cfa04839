//! Connections that belong to one client, where several processes serve that client: one process at a time holds such a
//! connection, and the next one goes on with the session at the server. The processes agree on that in a store, which is
//! reached through the traits of this module.

use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use proxy_model::Owner;

/// A connection that belongs to one client.
#[derive(Clone, Debug)]
pub struct OwnConnection {
    /// The client.
    pub owner: Owner,
    /// The server, and what was declared to it: one client may have several connections to a server.
    pub name: String,
}

/// A session at a server, as another process needs it to go on with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerSession {
    /// The name of the server in the config.
    pub server: String,
    /// Where the server is. Nobody else gets the id.
    pub url: String,
    /// The value of `Mcp-Session-Id`. Whoever knows it may use the session.
    pub id: SessionIdText,
    pub revision: String,
    /// The capabilities of the server.
    pub capabilities: Value,
}

/// An id that no log shows.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionIdText(pub String);

impl Debug for SessionIdText {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("SessionIdText")
    }
}

/// Why a connection cannot be opened here, as clients are told.
#[derive(Clone, Debug)]
pub struct NotHeld(pub String);

/// Knows which process holds a connection.
pub trait ConnectionHolders: Send + Sync + Debug {
    /// Makes this process the holder. `None` if no other process serves the client.
    fn hold(&self, connection: OwnConnection) -> BoxFuture<'_, Result<Option<Arc<dyn HeldConnection>>, NotHeld>>;

    /// Cancelled when this process no longer accepts requests: others may go on with its connections.
    fn leaving(&self) -> &CancellationToken;
}

/// A connection that this process holds.
pub trait HeldConnection: Send + Sync + Debug {
    /// The session that the last holder had at the server.
    fn earlier(&self) -> Option<&ServerSession>;

    /// Remembers the session for the next holder.
    fn keep<'a>(&'a self, session: &'a ServerSession) -> BoxFuture<'a, ()>;

    /// Completes when this process is no longer the holder, because it gave no sign of life for too long.
    fn lost(&self) -> BoxFuture<'_, ()>;

    /// Completes when another process wants to hold the connection.
    fn wanted(&self) -> BoxFuture<'_, ()>;

    /// Lets another process hold the connection, and go on with the session at the server.
    fn release(&self) -> BoxFuture<'_, ()>;

    /// The session at the server ends.
    fn end(&self) -> BoxFuture<'_, ()>;
}

/// Where all servers find out who holds a connection. Empty while no other process serves the same clients. Clones are the
/// same place.
#[derive(Clone, Debug, Default)]
pub struct SharedHolders(Arc<OnceLock<Arc<dyn ConnectionHolders>>>);

impl SharedHolders {
    /// Shares connections from now on. Done once.
    pub fn set(&self, holders: Arc<dyn ConnectionHolders>) {
        if self.0.set(holders).is_err() {
            tracing::debug!("connections are shared already");
        }
    }

    pub(crate) async fn hold(&self, connection: OwnConnection) -> Result<Option<Arc<dyn HeldConnection>>, NotHeld> {
        match self.0.get() {
            Some(holders) => holders.hold(connection).await,
            None => Ok(None),
        }
    }

    /// Whether this process no longer accepts requests.
    pub(crate) fn is_leaving(&self) -> bool {
        self.0.get().is_some_and(|holders| holders.leaving().is_cancelled())
    }

    /// Completes when this process no longer accepts requests.
    pub(crate) async fn leaving(&self) {
        match self.0.get() {
            Some(holders) => holders.leaving().cancelled().await,
            None => std::future::pending().await,
        }
    }
}
