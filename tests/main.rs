//! One integration binary: given these backends and this config, when the client does this, it sees exactly that.

mod access;
mod backends_that_fail;
mod bad_clients;
mod command_line;
mod docs;
mod envelope;
mod error_codes;
mod fidelity;
mod harness;
mod layers;
mod leaving_clients;
mod linked_resources;
mod many_clients;
mod no_orphans;
mod older_clients;
mod other_clients;
mod other_methods;
mod probing;
mod progress;
mod real_servers;
mod resources_and_prompts;
mod scripts;
mod session_http;
mod single_server;
mod stateless_http;
mod support;
