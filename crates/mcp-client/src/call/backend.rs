//! The traits of everything that offers tools and can be called.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;

use super::backend_call::{Answer, BackendCall};
use super::cache_hint::CacheHint;
use super::error::CallError;
use super::follower::{Subscriber, Subscription, UpdateListener};
use super::peer::Peer;
use super::per_person::PerPersonBackend;
use proxy_json::Raw;
use proxy_model::lock::ViewLock;
use proxy_model::{BackendView, ClientProfile, ItemKind, Owner, ServerAddress};

/// A source of tools, resources and prompts: an MCP server, or local scripts. No method has a default: a wrapper must not
/// forget to forward one.
pub trait Backend: Send + Sync {
    /// The backend's status and its current lists.
    fn view(&self) -> Arc<BackendView>;

    /// How what a client sees compares with what an operator approved; `None` if the backend is not locked. Without a client
    /// it is that of the main connection.
    fn lock(&self, client: Option<&dyn Peer>) -> Option<Arc<ViewLock>>;

    fn call(&self, call: BackendCall) -> BoxFuture<'_, Result<Answer, CallError>>;

    /// Like [`Backend::call`], but blocks the calling fiber until the call has finished.
    fn call_blocking(&self, call: BackendCall, runtime: &tokio::runtime::Handle) -> Result<Answer, CallError>;

    /// Whether calls run inside this process, as a part of the handler that makes them.
    fn is_in_process(&self) -> bool;

    /// What only a connected server can do. `None` for local scripts: their lists change with their file, and are the same
    /// for every client.
    fn connected(&self) -> Option<&dyn ConnectedBackend>;

    /// What only a backend in this process can do. `None` for a server.
    fn local(&self) -> Option<&dyn LocalBackend>;

    /// The connections of all people, if everybody has their own. `None` if all share what this backend has.
    fn per_person(&self) -> Option<&dyn PerPersonBackend>;
}

/// Why lists may not be what clients of a profile see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingLists {
    /// The backend lists different items by client abilities, and the known lists are for other abilities.
    Differing,
    /// It is not known whether the lists depend on abilities.
    Unknown,
}

/// A backend at the other end of a connection, with lists that change and depend on the client.
pub trait ConnectedBackend: Send + Sync {
    /// Where the backend is; `None` if the proxy starts it.
    fn address(&self) -> Option<Arc<ServerAddress>>;

    /// Subscribes to updates of a resource, named by the backend's own URI, until the subscription is dropped.
    fn subscribe<'a>(
        &'a self,
        uri: &'a str,
        subscriber: &'a Subscriber,
        listener: UpdateListener,
    ) -> BoxFuture<'a, Result<Subscription, CallError>>;

    /// Shows the known lists for the sole client, whose profile has just become known.
    fn introduce(&self, profile: ClientProfile);

    /// Fetches the lists for clients of this profile, on a connection from this person's share. Completes when the view has
    /// the lists, or when they cannot be fetched.
    fn prepare<'a>(&'a self, profile: ClientProfile, person: &'a Owner) -> BoxFuture<'a, ()>;

    /// Whether clients of this profile are shown lists that may be wrong for them, and why.
    fn missing_lists(&self, profile: ClientProfile) -> Option<MissingLists>;

    /// Like [`ConnectedBackend::prepare`], but also waits for what an earlier process has not found out.
    fn list_for<'a>(&'a self, profile: ClientProfile, person: &'a Owner) -> BoxFuture<'a, ()>;

    /// How long clients of this profile may cache the backend's list of this kind, as of now.
    fn cache_hint(&self, kind: ItemKind, profile: ClientProfile) -> CacheHint;

    /// Lists items of this kind again if the list that clients of this profile see has outlived the TTL that the backend
    /// declared.
    fn refresh(&self, kind: ItemKind, profile: ClientProfile) -> BoxFuture<'_, ()>;

    /// Sends a notification. It is dropped if the backend is not connected.
    fn notify(&self, method: String, params: Option<Raw>) -> BoxFuture<'_, ()>;

    /// Sends `notifications/roots/list_changed` on the connections that belong to this client alone.
    fn roots_changed<'a>(&'a self, owner: &'a Owner) -> BoxFuture<'a, ()>;
}

/// A backend in this process, whose resources do not tell when they change: they are read again and again while clients
/// follow them.
pub trait LocalBackend: Send + Sync {
    /// The minimum time between two refreshes of a resource; `None` if it cannot be followed.
    fn refresh_interval(&self, uri: &str) -> Option<Duration>;

    /// Reads a resource outside of a request. An error is [`CallError::Failed`] with a text for the log.
    fn refresh(&self, call: BackendCall) -> BoxFuture<'_, Result<Answer, CallError>>;
}
