//! Keeps a server connected: reconnects with backoff, lists again what changed, restores subscriptions, opens extra
//! connections for clients that need their own, and refuses calls to a server that keeps failing.

pub(crate) mod breaker;
pub(crate) mod relist;
pub(crate) mod freshness;
pub(crate) mod side_connections;
pub(crate) mod resubscribe;
pub(crate) mod supervisor;
