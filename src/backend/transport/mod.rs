//! Carries JSON-RPC messages to and from one server over stdio, Streamable HTTP or HTTP+SSE, and sorts what the server
//! sends. Knows nothing of the handshake or of reconnecting.

pub(crate) mod inbound;
pub(crate) mod any_transport;
pub(crate) mod oversized;
pub(crate) mod server_requests;
pub(crate) mod pending;
pub(crate) mod signals;
pub(crate) mod sse;
pub(crate) mod stdio;
pub(crate) mod subscriptions;
pub(crate) mod http;
