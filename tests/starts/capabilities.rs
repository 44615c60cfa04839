//! Clients that can be asked different things use one server: how many processes that takes, and what each of them sees.

use std::fs;
use std::process::Command;

use serde_json::json;

use super::{noting, starts};
use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::message::{self, Message};
use crate::support::patience::within;
use crate::support::programs::fake_backend;
use crate::support::proxy::{HttpProxy, Proxy};
use crate::support::temp_dir::TempDir;

const FORM: &str = r#"{"elicitation":{"form":{}}}"#;
const URL: &str = r#"{"elicitation":{"url":{}}}"#;
const SAMPLING: &str = r#"{"sampling":{}}"#;

const GO_ON: &str = "exec \"$0\" \"$@\"";

/// A session-based server that notes its starts.
fn counted(directory: &TempDir, more: &[&str]) -> Command {
    let server = fake_backend(["--era", "legacy"].into_iter().chain(more.iter().copied()));
    noting(directory, GO_ON, &server)
}

async fn session(proxy: &HttpProxy, capabilities: &str) -> HttpClient {
    let mut client = proxy.client();
    client.initialize_with("2025-11-25", capabilities).await.result();
    client
}

async fn tools(client: &mut HttpClient) -> Vec<String> {
    client.request("tools/list", "{}").await.tool_names()
}

/// Waits until the proxy has so many entries for a server in its cache.
async fn cached_profiles(proxy: &HttpProxy, wanted: usize) {
    let folder = proxy.world.directory.path().join("cache/starlark-mcp-proxy");
    let profiles = || {
        let files = fs::read_dir(&folder).into_iter().flatten().flatten();
        let texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
        texts.map(|text| text.matches("\"abilities\"").count()).max().unwrap_or_default()
    };
    let cached = async {
        while profiles() < wanted {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    within("the comparison", &proxy.program.stderr, cached).await;
}

#[tokio::test]
async fn a_server_is_compared_once_whatever_clients_can_be_asked() {
    let directory = TempDir::new();
    let config = Config::new().server("fake", &counted(&directory, &["--only", "echo"]));
    let proxy = Proxy::new(&config).http().await;
    for capabilities in ["{}", FORM] {
        assert_eq!(tools(&mut session(&proxy, capabilities).await).await, ["echo"]);
    }
    cached_profiles(&proxy, 2).await;
    for capabilities in [URL, SAMPLING, FORM] {
        assert_eq!(tools(&mut session(&proxy, capabilities).await).await, ["echo"]);
    }
    assert_eq!(starts(&directory), 2, "the server itself, and once to compare");
    let world = proxy.world;
    drop(proxy.program);
    let proxy = world.http().await;
    for capabilities in [URL, "{}", SAMPLING] {
        let mut client = session(&proxy, capabilities).await;
        assert_eq!(tools(&mut client).await, ["echo"]);
        client.request("ping", "{}").await.result();
    }
    assert_eq!(starts(&directory), 3, "the next proxy need not compare");
}

#[tokio::test]
async fn a_process_that_only_compares_leaves_nothing_in_the_log() {
    let directory = TempDir::new();
    let server = counted(&directory, &["--only", "echo", "--stderr", "here I am"]);
    let proxy = Proxy::new(&Config::new().server("fake", &server)).http().await;
    tools(&mut session(&proxy, FORM).await).await;
    cached_profiles(&proxy, 2).await;
    assert_eq!(starts(&directory), 2);
    let logs = proxy.world.run(["logs", "fake"]).await.expect(0).stdout;
    assert_eq!(logs.matches("here I am").count(), 1, "{logs}");
}

/// Answers the form that a call of `ask` leads to.
async fn asked(client: &HttpClient) -> Message {
    let call = message::request("7", "tools/call", &message::call("ask", "{}"));
    let mut stream = client.send(&client.legacy(&call)).await;
    loop {
        let message = stream.next_message().await.expect("the stream goes on to the result");
        if message.is_response() {
            return message;
        }
        assert_eq!(message.method().as_deref(), Some("elicitation/create"), "{}", message.raw);
        let id = message.id().expect("a question has an id");
        let answer = message::result(&id, r#"{"action":"accept","content":{"colour":"teal"}}"#);
        assert_eq!(client.send(&client.legacy(&answer)).await.status, 202);
    }
}

#[tokio::test]
async fn with_shared_capabilities_all_clients_use_one_process() {
    let directory = TempDir::new();
    let server = counted(&directory, &["--only", "ask,pid"]);
    let config = Config::new().server_with("fake", &server, json!({"capabilities": "shared"}));
    let proxy = Proxy::new(&config).http().await;
    let (mut plain, mut form) = (session(&proxy, "{}").await, session(&proxy, FORM).await);
    assert_eq!(tools(&mut plain).await, tools(&mut form).await);
    let pids = [plain.call("pid", "{}").await.structured(), form.call("pid", "{}").await.structured()];
    assert_eq!(pids[0], pids[1]);
    let answered = asked(&form).await;
    assert!(answered.raw.contains("teal"), "{}", answered.raw);
    let refused = plain.call("ask", "{}").await;
    assert!(refused.raw.contains("-32601"), "the server is told that this client cannot be asked: {}", refused.raw);
    assert_eq!(starts(&directory), 1);
}

#[tokio::test]
async fn the_first_list_waits_if_the_cache_has_only_what_others_see() {
    let directory = TempDir::new();
    directory.write("seconds", "0");
    let script = format!("sleep \"$(cat {})\"; exec \"$0\" \"$@\"", directory.path().join("seconds").display());
    let server = noting(&directory, &script, &fake_backend(["--era", "legacy", "--form-tool", "--only", "echo"]));
    let mut proxy = Proxy::new(&Config::new().server("fake", &server)).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    assert_eq!(proxy.tools().await, ["echo"]);
    proxy.client.finish().await;
    directory.write("seconds", "1");
    // Nobody has compared, so the list waits for a short time.
    let mut proxy = proxy.world.stdio();
    proxy.client.initialize_with("2025-11-25", FORM).await.result();
    assert_eq!(proxy.tools().await, ["echo", "with_form"]);
    assert_eq!(proxy.client.call("with_form", "{}").await.structured(), "{}");
    proxy.client.finish().await;
    // Now it is known what both see.
    directory.write("seconds", "3600");
    let mut proxy = proxy.world.stdio();
    proxy.client.initialize("2025-11-25").await.result();
    assert_eq!(proxy.tools().await, ["echo"]);
    proxy.client.finish().await;
    let mut proxy = proxy.world.stdio();
    proxy.client.initialize_with("2025-11-25", FORM).await.result();
    assert_eq!(proxy.tools().await, ["echo", "with_form"]);
}

#[tokio::test]
async fn the_first_list_waits_longer_for_a_server_that_is_known_to_list_by_capabilities() {
    let directory = TempDir::new();
    directory.write("seconds", "0");
    let script = format!("sleep \"$(cat {})\"; exec \"$0\" \"$@\"", directory.path().join("seconds").display());
    let server = noting(&directory, &script, &fake_backend(["--era", "legacy", "--form-tool", "--only", "echo"]));
    let proxy = Proxy::new(&Config::new().server("fake", &server)).http().await;
    let mut form = session(&proxy, r#"{"elicitation":{"form":{},"url":{}}}"#).await;
    let listed = async { while tools(&mut form).await != ["echo", "with_form"] {} };
    within("the tool for those who can be asked", &proxy.program.stderr, listed).await;
    let world = proxy.world;
    drop(proxy.program);
    directory.write("seconds", "3");
    let proxy = world.http().await;
    let mut other = session(&proxy, FORM).await;
    assert_eq!(tools(&mut other).await, ["echo", "with_form"], "of a set that nobody had before");
}
