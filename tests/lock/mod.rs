//! `proxy.lock`: what an operator approved of the servers, and what clients see when a server changes.

mod catalog;
mod clients;
mod command;
mod files;
mod held;
mod ignored;
mod prompts_and_resources;
mod real;
mod rug_pull;
mod scanner;
mod script;
mod unsteady;

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::patience::within;
use crate::support::program::Program;
use crate::support::programs::fake_http_backend;
use crate::support::proxy::{HttpProxy, Proxy};
use crate::support::temp_dir::TempDir;

/// A server that a test changes while it runs.
struct Changing {
    directory: TempDir,
    _server: Program,
    url: String,
}

impl Changing {
    async fn listing(tools: Value) -> Self {
        Changing::with(tools, &[]).await
    }

    async fn with(tools: Value, more: &[&str]) -> Self {
        let directory = TempDir::new();
        let file = live_file(&directory, &tools, "Be kind.");
        let file = file.to_str().expect("the path is UTF-8");
        let (server, url) = fake_http_backend(&[&["--only", "notify", "--live", file][..], more].concat()).await;
        Changing { directory, _server: server, url }
    }

    /// From now on it lists this.
    fn lists(&self, tools: Value) {
        live_file(&self.directory, &tools, "Be kind.");
    }

    /// From now on it lists these prompts, resources and resource templates, and no tools.
    fn lists_items(&self, items: &Value) {
        self.directory.write("live.json", &items.to_string());
    }

    fn config(&self) -> Config {
        Config::new().remote("fake", &self.url).section("sessionInit: {preset: passthrough@1}")
    }

    /// A proxy with a lock that has what the server lists now.
    async fn locked(&self, more: &str) -> Proxy {
        let world = Proxy::new(&self.config().section(more));
        world.run(["lock", "--yes"]).await.expect(0);
        world
    }
}

fn live_file(directory: &TempDir, tools: &Value, instructions: &str) -> PathBuf {
    directory.write("live.json", &json!({"tools": tools, "instructions": instructions}).to_string())
}

/// The tool `read_note` with this description, and with more members.
fn read_note(description: &str, more: Value) -> Value {
    let mut tool = json!({
        "name": "read_note",
        "description": description,
        "inputSchema": {"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]},
    });
    if let (Some(tool), Value::Object(more)) = (tool.as_object_mut(), more) {
        tool.extend(more);
    }
    tool
}

async fn session(proxy: &HttpProxy) -> HttpClient {
    let mut client = proxy.client();
    client.initialize("2025-11-25").await.result();
    client
}

/// What the lock says of the server in a running proxy.
async fn differences(world: &Proxy) -> Vec<String> {
    let status = world.run(["status", "--json"]).await.expect(0).json();
    let lines = status["servers"][0]["lock"]["differences"].as_array().cloned().unwrap_or_default();
    lines.iter().map(|line| line.as_str().unwrap_or_default().to_owned()).collect()
}

/// Makes the server tell of its new list of tools, and waits until the proxy has compared it.
async fn announce(client: &mut HttpClient, proxy: &HttpProxy, is_seen: impl Fn(&[String]) -> bool) {
    announce_lists("tools", client, proxy, is_seen).await;
}

/// The same for its lists of `tools`, `prompts` or `resources`.
async fn announce_lists(kind: &str, client: &mut HttpClient, proxy: &HttpProxy, is_seen: impl Fn(&[String]) -> bool) {
    let changed = json!({"method": format!("notifications/{kind}/list_changed"), "to": "listeners"});
    client.call("notify", &changed.to_string()).await.result();
    let seen = async {
        while !is_seen(&differences(&proxy.world).await) {
            tokio::task::yield_now().await;
        }
    };
    within("the change of the server in `proxy status`", &proxy.program.stderr, seen).await;
}
