//! `proxy author`: a model drafts, tests and saves policies, and what it writes reaches nothing else.

mod apis;
mod confined;
mod drafting;
mod hostile;
mod protocol;
mod saving;
mod secrets;

use std::process::Command;

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::message::Message;
use crate::support::patience::LONG_PATIENCE;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;
use crate::support::stdio_client::StdioClient;

/// A script that hides what destroys, and its test, as `files`.
const POLICY: &str = r#"
for name, server in backends().items():
    for meta, call in server.tools():
        if meta.name == "notify":
            skip(meta, "nobody needs it")
        else:
            publish(meta, call)
"#;

const TEST: &str = r#"
def session():
    fake = testing.backend(tools = [testing.tool("notify"), testing.tool("echo", returns = "hello")])
    return testing.session(script = "policy.star", backends = {"fake": fake})

def test_notify_is_hidden():
    testing.eq(session().tool_names(), ["echo"])
"#;

/// A config with one server, which is locked and of which nothing else is known.
async fn world() -> Proxy {
    locked(Proxy::new(&config())).await
}

/// The same with a script.
async fn world_with_script(text: &str) -> Proxy {
    let config = config().section("sessionInit: {scriptFile: policy.star}");
    locked(Proxy::new(&config).file("policy.star", text)).await
}

fn config() -> Config {
    Config::new().server("fake", &fake_backend(["--only", "notify,echo"]))
}

async fn locked(world: Proxy) -> Proxy {
    world.run(["lock", "--yes"]).await.expect(0);
    std::fs::remove_dir_all(world.directory.path().join("cache")).expect("the commands have filled it");
    world
}

/// A client of `proxy author` in the folder of the config.
struct Author {
    client: StdioClient,
    world: Proxy,
}

impl Author {
    async fn start(world: Proxy) -> Self {
        Self::with(world, &[]).await
    }

    async fn with(world: Proxy, arguments: &[&str]) -> Self {
        Self::of(world.command(["author"].iter().chain(arguments).copied()), world).await
    }

    /// The client of a server that this command starts.
    async fn of(command: Command, world: Proxy) -> Self {
        let mut client = StdioClient::start(command);
        client.program.stderr.patience = LONG_PATIENCE;
        client.initialize("2025-11-25").await.result();
        Author { client, world }
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> Message {
        self.client.call(tool, &arguments.to_string()).await
    }

    /// The data that a tool returns.
    async fn data(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.call(tool, arguments).await.value();
        assert_eq!(answer["result"]["isError"], false, "{answer:#}");
        answer["result"]["structuredContent"].clone()
    }

    /// The text of an error.
    async fn failure(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments).await;
        assert_eq!(answer.value()["result"]["isError"], true, "{}", answer.raw);
        answer.text()
    }

    /// Runs a test file, and returns the results.
    async fn tested(&mut self, text: &str) -> Value {
        self.data("test", json!({"files": {"a_test.star": text}})).await
    }

    fn text_of(&self, file: &str) -> String {
        std::fs::read_to_string(self.world.directory.path().join(file)).expect("it is there")
    }

    fn has(&self, file: &str) -> bool {
        self.world.directory.path().join(file).symlink_metadata().is_ok()
    }
}

/// The folders that the server leaves in the folder for temporary files.
fn copies_of(process: u32) -> Vec<String> {
    let entries = std::fs::read_dir(std::env::temp_dir()).expect("it is there").flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with(&format!("proxy-author-{process}-"))).collect()
}
