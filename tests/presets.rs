//! The session scripts in the binary that need nothing but their name.

use serde_json::json;

use crate::elicitation::{Client, EVERYTHING, text};
use crate::support::config::Config;
use crate::support::programs::fake_backend;
use crate::support::proxy::{Proxy, StdioProxy};
use crate::support::temp_dir::TempDir;

/// A server with a tool that reads, one that writes, and one that says nothing of itself.
fn server(files: &TempDir) -> Config {
    let tool = |name: &str, annotations: serde_json::Value| json!({"name": name, "inputSchema": {"type": "object"}, "annotations": annotations});
    let tools = json!([
        tool("look", json!({"readOnlyHint": true})),
        tool("write", json!({"readOnlyHint": false})),
        tool("silent", json!({})),
    ]);
    let tools = files.write("tools.json", &tools.to_string());
    let tools = tools.to_str().expect("a path");
    Config::new().server("fake", &fake_backend(["--tools", tools, "--resources", "--prompts"]))
}

async fn serving(config: &Config) -> StdioProxy {
    let mut proxy = Proxy::new(config).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy
}

#[tokio::test]
async fn read_only_shows_what_says_that_it_changes_nothing() {
    let files = TempDir::new();
    let config = server(&files).section("sessionInit: { preset: read-only }");
    let mut proxy = serving(&config).await;
    assert_eq!(proxy.client.request("tools/list", "{}").await.tool_names(), ["look"]);
    proxy.client.call("look", "{}").await.result();
    let refused = proxy.client.call("write", "{}").await;
    assert!(refused.error_message().contains("unknown tool"), "{}", refused.raw);
    proxy.client.request("resources/read", r#"{"uri":"memo://greeting"}"#).await.result();
    proxy.client.request("prompts/get", r#"{"name":"greet"}"#).await.result();
}

#[tokio::test]
async fn read_only_believes_the_operator_more_than_the_server() {
    let files = TempDir::new();
    let overrides =
        "{ silent: { annotations: { readOnlyHint: true } }, look: { annotations: { readOnlyHint: false } } }";
    let config = server(&files)
        .section("sessionInit: { preset: read-only@1 }")
        .section(&format!("aggregation: {{ tools: [{{ workload: fake, overrides: {overrides} }}] }}"));
    let mut proxy = serving(&config).await;
    assert_eq!(proxy.client.request("tools/list", "{}").await.tool_names(), ["silent"]);
}

#[tokio::test]
async fn approval_asks_before_what_may_change_something() {
    let files = TempDir::new();
    let config = server(&files).section("sessionInit: { preset: approval }");
    for modern in [false, true] {
        let mut client = Client::of(&config, modern, EVERYTHING).await;
        let yes = json!({"action": "accept", "content": {}});
        let (questions, _) = client.converse("look", json!({}), yes.clone()).await;
        assert_eq!(questions.len(), 0, "what only reads asks nobody");
        for tool in ["write", "silent"] {
            let (questions, outcome) = client.converse(tool, json!({"n": 1}), yes.clone()).await;
            let asked = questions[0]["params"]["message"].as_str().unwrap_or_default().to_owned();
            assert_eq!(asked, format!("Allow `{tool}` of `fake` to run with {{\"n\":1}}?"));
            assert_eq!(outcome["result"]["structuredContent"], json!({"n": 1}), "{outcome}");
            let (_, outcome) = client.converse(tool, json!({}), json!({"action": "decline"})).await;
            assert!(text(&outcome).contains("the user did not approve this call (decline)"), "{outcome}");
        }
        let mut mute = Client::of(&config, modern, "{}").await;
        let (_, outcome) = mute.converse("write", json!({}), json!({})).await;
        assert!(text(&outcome).contains("this client cannot ask its user for approval"), "{outcome}");
    }
    let config = server(&files).section("sessionInit: { preset: approval, params: { when_unavailable: accept } }");
    let mut mute = Client::of(&config, false, "{}").await;
    let (_, outcome) = mute.converse("write", json!({"n": 1}), json!({})).await;
    assert_eq!(outcome["result"]["structuredContent"], json!({"n": 1}), "{outcome}");
}
