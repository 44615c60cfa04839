//! Schemas made to take time or memory, and clients that change what they are.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::{introduce, listed, named, start, stateless, tool};
use crate::support::temp_dir::TempDir;

#[tokio::test]
async fn schemas_that_multiply_or_lead_nowhere_end_soon() {
    let wide: Map<String, Value> = (0..40).map(|n| (format!("p{n}"), json!({"$ref": "#"}))).collect();
    let many: Vec<Value> =
        (0..8000).map(|n| json!({"type": "object", "properties": {format!("p{n}"): {"const": n}}})).collect();
    let mut nested = json!({"type": "string"});
    for _ in 0..50 {
        nested = json!({"anyOf": [nested, {"type": "null"}]});
    }
    let tools = [
        tool("wide", json!({"type": "object", "properties": wide})),
        tool("itself", json!({"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}})),
        tool("nothing", json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}})),
        tool("elsewhere", json!({"type": "object", "properties": {"a": {"$ref": "https://example.com/a.json"}}})),
        tool("many", json!({"type": "object", "anyOf": many})),
        tool("nested", json!({"type": "object", "properties": {"a": nested}})),
        tool("odd", json!({"type": "object", "properties": {"a": {"type": []}, "b": {"enum": []}, "c": false}})),
    ];
    let directory = TempDir::new();
    let mut proxy = start(&directory, &tools, "results: {maxTokens: off}");
    introduce(&mut proxy.client, "somebody").await;
    proxy.client.tools_until(|names| names.len() == tools.len() + 1).await;
    for client in ["gemini-cli", "claude-code", "Visual Studio Code", "codex-mcp-client", "cursor-vscode"] {
        let began = Instant::now();
        let answer = stateless(&mut proxy.client, client, "tools/list", "{}").await;
        assert_eq!(answer.tool_names().len(), tools.len() + 1, "{client}");
        assert!(began.elapsed() < Duration::from_secs(10), "{client}: {:?}", began.elapsed());
        if client == "gemini-cli" {
            assert!(!answer.raw.contains("\"$ref\""));
            let size = answer.raw.len();
            assert!(size < 8 << 20, "{size} bytes");
        }
    }
}

#[tokio::test]
async fn two_properties_that_become_one_name_leave_the_tool_out() {
    let directory = TempDir::new();
    let first = tool("t", json!({"type": "object", "properties": {"a b": {"type": "string"}}}));
    let mut proxy = start(&directory, &[first], "");
    introduce(&mut proxy.client, "claude-code").await;
    proxy.client.tools_until(|names| names.len() > 1).await;
    let tools = listed(&mut proxy.client).await;
    let short = named(&tools, "t")["inputSchema"]["properties"].as_object().unwrap().keys().next().unwrap().clone();

    let other = TempDir::new();
    let second = tool("t", json!({"type": "object", "properties": {"a b": {}, short.as_str(): {}}}));
    let mut proxy = start(&other, &[second], "");
    introduce(&mut proxy.client, "claude-code").await;
    assert_eq!(proxy.client.tools_until(|names| !names.is_empty()).await, ["seen"]);
}
