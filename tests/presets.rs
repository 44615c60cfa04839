//! The session scripts in the binary that need nothing but their name.

use serde_json::json;

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
