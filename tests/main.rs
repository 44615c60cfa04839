//! One integration binary: given these backends and this config, when the client does this, it sees exactly that.

mod access;
mod bad_clients;
mod envelope;
mod fidelity;
mod harness;
mod leaving_clients;
mod other_clients;
mod stateless_http;
mod support;
