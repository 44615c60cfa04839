//! What a script decides holds for every way to an item, and for exactly the arguments that its server gets.

mod aliases;
mod approval;
mod continued_calls;
mod duplicate_keys;
mod narrowed_schemas;
mod schema_faults;

use crate::support::config::Config;
use crate::support::programs::fake_backend;
use crate::support::proxy::{Proxy, StdioProxy};

/// A proxy with this script in front of one server that lists these tools, whatever they are, and has resources. The server
/// answers with the arguments that reached it.
fn world(tools: &[&str], script: &str) -> Proxy {
    world_of(&["--resources"], tools, script)
}

/// The same with other options of the server.
fn world_of(options: &[&str], tools: &[&str], script: &str) -> Proxy {
    let backend = fake_backend(["--tools", "tools.json"].into_iter().chain(options.iter().copied()));
    let config = Config::new().server("fake", &backend).section("sessionInit: { scriptFile: policy.star }");
    Proxy::new(&config).file("policy.star", script).file("tools.json", &format!("[{}]", tools.join(",")))
}

async fn serving(tools: &[&str], script: &str) -> StdioProxy {
    let mut proxy = world(tools, script).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy
}
