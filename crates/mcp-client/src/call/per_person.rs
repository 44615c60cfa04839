//! The traits of servers with a separate connection for each person.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;

use proxy_json::Raw;
use proxy_model::{BackendView, ClientProfile, ItemKind, Owner, PersonKey};

/// The connections of all people to one server. What one of them sees and calls is reached by their key only.
pub trait PerPersonBackend: Send + Sync {
    /// The connections of a person, if there are any.
    fn known(&self, person: &PersonKey) -> Option<Arc<dyn PersonBackend>>;

    /// The connections of a person, opened if there are none. `None` if the server is not for this person, or has no room.
    fn open(&self, person: &PersonKey) -> Option<Arc<dyn PersonBackend>>;

    /// Closes all connections, and waits until they are closed.
    fn stop(&self) -> BoxFuture<'_, ()>;
}

/// A server as one person uses it.
pub trait PersonBackend: Debug + Send + Sync {
    /// The server's status and what it lists for this person.
    fn view(&self) -> Arc<BackendView>;

    /// Whether it is known what the server lists for this person, or that it does not say.
    fn is_settled(&self) -> bool;

    /// Waits until that is known, at most this long after the person came first.
    fn settled(&self, at_most: Duration) -> BoxFuture<'_, ()>;

    /// Finds out what clients of this profile see, once. `person` is whose share of connections that takes.
    fn prepare<'a>(&'a self, profile: ClientProfile, person: &'a Owner) -> BoxFuture<'a, ()>;

    /// Lists items of this kind again if the list that clients of this profile see has outlived its TTL.
    fn refresh(&self, kind: ItemKind, profile: ClientProfile) -> BoxFuture<'_, ()>;

    /// Tries again if the person was refused last: the person has come again, and it may be allowed by now.
    fn retry_refused(&self) -> BoxFuture<'_, ()>;

    /// The result of the server's log-in tool for a person who has logged in. `None` for other tools, and before the log-in.
    fn logged_in(&self, tool: &str) -> Option<Raw>;
}
