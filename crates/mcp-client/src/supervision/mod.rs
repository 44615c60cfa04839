//! Keeps a server connected: reconnects with backoff, lists again what changed, restores subscriptions, opens side
//! connections for clients that cannot share the main one, and refuses calls to a server that keeps failing. Uses `call`,
//! `transport` and `connection` of the other modules of this crate.

mod breaker;
mod comparison;
mod held_tasks;
mod holds;
mod lists;
mod locked_view;
mod log_in_changes;
mod preparation;
mod publisher;
mod relist;
mod rest;
mod restart;
mod resubscribe;
mod side_connection;
mod side_connections;
mod side_holding;
mod side_idle;
mod side_key;
mod stateless_leg;
mod supervised;
mod supervisor;

pub(super) use holds::Hold;
pub use holds::Rest;
pub use publisher::idle_view;
pub(super) use publisher::per_person_view;
pub use restart::RestartOutcome;
pub use side_connections::ROOTS_CHANGED;
pub(super) use side_connections::{SideClient, SideConnectionError};
pub(super) use side_key::SideKey;
pub(super) use supervised::SupervisedServer;
pub(super) use supervisor::supervise;
