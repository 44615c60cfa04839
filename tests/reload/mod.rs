//! Files changed while the proxy runs: clients see the change in the session they have, or nothing of it.

mod config;
mod extensions;
mod flight;
mod leaks;
mod scripts;
mod status;

use crate::support::config::Config;
use crate::support::programs::fake_backend;
use crate::support::proxy::{Proxy, StdioProxy};

const LIST_CHANGED: &str = "notifications/tools/list_changed";

/// A script that publishes the one tool of `fake` under this name.
fn renamed(name: &str) -> String {
    format!("for meta, call in backends()['fake'].tools():\n    publish(meta.replace(name = '{name}'), call)\n")
}

fn world(script: &str) -> Proxy {
    let config = Config::new()
        .server("fake", &fake_backend(["--only", "echo"]))
        .section("sessionInit: { scriptFile: policy.star }");
    Proxy::new(&config).file("policy.star", script)
}

/// Serving a client that has shaken hands and seen the list.
async fn serving(proxy: Proxy) -> StdioProxy {
    let mut proxy = proxy.stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy.tools().await;
    proxy
}

impl StdioProxy {
    fn write(&self, name: &str, text: &str) {
        self.world.directory.write(name, text);
    }

    /// The list after the next word of a change.
    async fn changed_tools(&mut self) -> Vec<String> {
        self.client.expect_notification(LIST_CHANGED).await;
        self.tools().await
    }

    pub async fn status(&self) -> serde_json::Value {
        self.world.run(["status", "--json"]).await.expect(0).json()
    }
}
