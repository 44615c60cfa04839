//! The fronts that receive requests: HTTP and stdio, with sessions, authentication and batches.

pub(crate) mod authenticator;
pub(crate) mod batch;
pub(crate) mod connected_clients;
pub(crate) mod disconnect;
pub(crate) mod http;
pub(crate) mod operated_sessions;
mod refusal;
pub(crate) mod session;
pub(crate) mod sessions;
pub(crate) mod stateless;
pub(crate) mod stdio;
