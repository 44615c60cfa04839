//! Extensions through the real program: given these files, the client sees exactly that.

mod apps;
mod asking;
mod bytes;
mod client;
mod commands;
mod completion;
mod databases;
mod discovering;
mod executables;
mod existing;
mod following;
mod loading;
mod logging;
mod offering;
mod requests;
mod scaffold;

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::finished::Finished;
use crate::support::message::Message;
use crate::support::proxy::{Proxy, StdioProxy};

/// A proxy that serves the extensions in the folder `tools` as they are.
fn world(files: &[(&str, &str)]) -> Proxy {
    let config =
        Config::new().section("extensions: { paths: [tools] }").section("sessionInit: { preset: passthrough }");
    let proxy = Proxy::new(&config);
    for (name, text) in files {
        proxy.directory.write(&format!("tools/{name}"), text);
    }
    proxy
}

async fn serving(files: &[(&str, &str)]) -> StdioProxy {
    started(world(files)).await
}

async fn started(proxy: Proxy) -> StdioProxy {
    let mut proxy = proxy.stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy
}

/// An extension with one tool `run`, whose handler has this body.
fn one_tool(body: &str, declared: &str) -> String {
    format!(
        "def run(params):\n    {}\n\ndef describe_extension():\n    return Extension(name = \"one\", version = \"1\", {declared}\n        tools = [Tool(name = \"run\", description = \"\", handler = run)])\n",
        body.replace('\n', "\n    ")
    )
}

impl StdioProxy {
    /// What a tool returned as data.
    async fn data(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.client.call(tool, &arguments.to_string()).await.value();
        assert!(answer["result"].get("isError").is_none(), "{answer}");
        answer["result"]["structuredContent"].clone()
    }

    async fn text(&mut self, tool: &str, arguments: Value) -> String {
        self.client.call(tool, &arguments.to_string()).await.text()
    }

    /// The text of a result that must be an error.
    async fn fault(&mut self, tool: &str, arguments: Value) -> String {
        let answer: Message = self.client.call(tool, &arguments.to_string()).await;
        assert_eq!(answer.value()["result"]["isError"], true, "{}", answer.raw);
        answer.text()
    }
}

/// What `proxy check` says of these files when they are wrong.
async fn refused(files: &[(&str, &str)]) -> String {
    let world = world(files);
    let finished = Finished::run(world.command(["check", "--config", "proxy.yaml"])).await;
    assert_ne!(finished.code, 0, "{}", finished.stdout);
    finished.stderr
}

#[tokio::test]
async fn the_example_for_git_runs_no_program_of_a_repository() {
    let config = Config::new().section(&format!(
        "extensions: {{ paths: [{:?}] }}",
        concat!(env!("CARGO_MANIFEST_DIR"), "/extensions/git.star")
    ));
    let mut proxy = started(Proxy::new(&config)).await;
    let folder = proxy.world.directory.directory("hostile");
    let ran = folder.join("ran");
    let git = |arguments: &[&str]| {
        let status = std::process::Command::new("git").arg("-C").arg(&folder).args(arguments).status();
        assert!(status.expect("git runs").success(), "{arguments:?}");
    };
    git(&["init", "--quiet"]);
    std::fs::write(folder.join("file"), "text").expect("it can be written");
    git(&["add", "file"]);
    git(&["-c", "user.name=x", "-c", "user.email=x", "commit", "--quiet", "--message", "first"]);
    let program = format!("touch {}; false", ran.display());
    git(&["config", "core.fsmonitor", &program]);
    let arguments = json!({"folder": folder});
    let status = proxy.data("status", arguments.clone()).await;
    assert_eq!(status["changes"], json!([]), "{status}");
    assert_eq!(proxy.data("log", arguments.clone()).await["commits"][0]["subject"], "first");
    git(&["config", "filter.evil.clean", &program]);
    std::fs::write(folder.join(".git/info/attributes"), "* filter=evil\n").expect("it can be written");
    std::fs::write(folder.join("file"), "other").expect("it can be written");
    let text = proxy.fault("status", arguments).await;
    assert!(text.contains("name programs to run"), "{text}");
    assert!(!ran.exists(), "the repository ran a program");
}

#[tokio::test]
async fn the_examples_work_together() {
    let config = Config::new().section(&format!(
        "extensions: {{ paths: [{:?}] }}",
        concat!(env!("CARGO_MANIFEST_DIR"), "/extensions/g*.star")
    ));
    let mut proxy = started(Proxy::new(&config)).await;
    let status = proxy.data("status", json!({"folder": env!("CARGO_MANIFEST_DIR")})).await;
    assert!(status["branch"].is_string() && status["changes"].is_array(), "{status}");
    let meaning = proxy.text("define", json!({"term": "preset"})).await;
    assert_eq!(meaning, "A session script that is shipped in the binary.");
}
