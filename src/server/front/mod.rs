//! Where requests come in: HTTP, stdio, sessions, identity, batches.

pub(crate) mod batch;
pub(crate) mod clients;
pub(crate) mod http;
pub(crate) mod identity;
pub(crate) mod disconnect;
pub(crate) mod session;
pub(crate) mod sessions;
pub(crate) mod stateless;
pub(crate) mod stdio;
