//! One integration binary: given these backends and this config, when the client does this, it sees exactly that.

mod access;
mod bad_clients;
mod command_line;
mod docs;
mod envelope;
mod fidelity;
mod harness;
mod layers;
mod leaving_clients;
mod other_clients;
mod scripts;
mod stateless_http;
mod support;
