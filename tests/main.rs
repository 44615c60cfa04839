//! One integration binary: given these backends and this config, when the client does this, it sees exactly that.

mod access;
mod backends_that_fail;
mod bad_clients;
mod caching;
mod command_line;
mod docs;
mod envelope;
mod fidelity;
mod harness;
mod layers;
mod leaving_clients;
mod many_clients;
mod no_orphans;
mod other_clients;
mod pagination;
mod probing;
mod questions;
mod real_servers;
mod resources_and_prompts;
mod scripts;
mod session_http;
mod stateless_http;
mod subscriptions;
mod support;
