//! The Streamable HTTP transport: a POST for every message, answered with JSON or with an event stream.

mod exchange;
mod http_transport;
mod listener;
mod negotiated;

pub(crate) use http_transport::HttpTransport;
