//! Servers that rest (`start: lazy`, `idleStop`): they run while somebody needs them, and are listed all the time.

mod failing;
mod holds;
mod listed;
mod many;
mod woken;

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::patience::within;
use crate::support::programs::fake_backend;
use crate::support::proxy::{HttpProxy, Proxy};
use crate::support::temp_dir::TempDir;

const RESTS: &str = "rests until it is needed";
const FORMS: &str = r#"{"elicitation":{"form":{}}}"#;

/// A server that notes each of its starts, waits while the file `gate` is there, and ends at once while `broken` is.
struct Server {
    folder: TempDir,
    command: Command,
}

impl Server {
    fn new(arguments: &[&str]) -> Self {
        let folder = TempDir::new();
        let script = format!(
            "cd '{}' && echo started >> starts; while [ -e gate ]; do sleep 0.02; done; \
             if [ -e broken ]; then echo 'no such database' >&2; exit 3; fi; exec \"$0\" \"$@\"",
            folder.path().display()
        );
        let program = fake_backend(arguments.iter().copied());
        let mut command = Command::new("sh");
        command.args(["-c", &script]).arg(program.get_program()).args(program.get_args());
        Server { folder, command }
    }

    /// The usual one of sessions.
    fn legacy() -> Self {
        Self::new(&["--era", "legacy"])
    }

    fn config(&self, more: Value) -> Config {
        Config::new().server_with("fake", &self.command, more)
    }

    /// A world whose cache knows the server, which has not started since.
    async fn known(&self, more: Value) -> Proxy {
        let proxy = Proxy::new(&self.config(more)).argument("--log=debug");
        self.seen_by(&proxy).await;
        proxy
    }

    /// Lets the cache of a world know its servers.
    async fn seen_by(&self, proxy: &Proxy) {
        proxy.run(["list-tools", "--live"]).await.expect(0);
        fs::remove_file(self.folder.path().join("starts")).expect("it was started");
    }

    /// How often it was started.
    fn starts(&self) -> usize {
        fs::read_to_string(self.folder.path().join("starts")).unwrap_or_default().lines().count()
    }

    async fn started(&self, times: usize, proxy: &HttpProxy) {
        let started = async {
            while self.starts() < times {
                tokio::task::yield_now().await;
            }
        };
        within("a start of the server", &proxy.program.stderr, started).await;
    }

    fn put(&self, name: &str) {
        self.folder.write(name, "");
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.folder.path().join(name)).expect("it is there");
    }
}

fn lazy() -> Value {
    json!({"start": "lazy"})
}

async fn session(proxy: &HttpProxy) -> HttpClient {
    let mut client = proxy.client();
    client.initialize("2025-11-25").await.result();
    client
}

/// Waits until the server has come to rest so often.
async fn rested(proxy: &HttpProxy, server: &str, times: usize) {
    proxy.program.stderr.times(&format!("{server}: {RESTS}"), times).await;
}

/// What `proxy status --json` says of the server `fake`.
async fn status(proxy: &HttpProxy) -> Value {
    let status = proxy.world.run(["status", "--json"]).await.expect(0).json();
    let servers = status["servers"].as_array().expect("servers").iter();
    servers.into_iter().find(|server| server["name"] == "fake").expect("the server").clone()
}
