//! One integration binary: given these backends and this config, when the client does this, it sees exactly that.

mod backends_that_fail;
mod harness;
mod many_clients;
mod no_orphans;
mod probing;
mod real_servers;
mod session_http;
mod support;
