//! Schemas that a client's provider refuses.

use serde_json::{Value, json};

use super::{introduce, listed, named, received, start, tool};
use crate::support::temp_dir::TempDir;

fn tree() -> Value {
    json!({
        "type": "object",
        "properties": {
            "node": {"$ref": "#/$defs/node"},
            "mode": {"const": "fast"},
            "size": {"type": ["integer", "null"], "enum": [1, 2, null]},
            "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
        },
        "required": ["mode"],
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
    })
}

#[tokio::test]
async fn gemini_gets_a_schema_without_what_it_refuses_and_the_server_the_same_call() {
    let directory = TempDir::new();
    let mut proxy = start(&directory, &[tool("tree", tree())], "");
    introduce(&mut proxy.client, "gemini-cli-mcp-client").await;
    proxy.client.tools_until(|names| names.len() > 1).await;
    let tools = listed(&mut proxy.client).await;
    let schema = &named(&tools, "tree")["inputSchema"];
    let text = schema.to_string();
    for refused in ["\"$ref\"", "\"$defs\"", "\"const\"", "[\"integer\"", "\"enum\":[1"] {
        assert!(!text.contains(refused), "{refused}: {text}");
    }
    assert_eq!(schema["properties"]["mode"], json!({"enum": ["fast"], "type": "string"}));
    assert_eq!(schema["properties"]["pair"]["items"], json!({}));
    assert_eq!(schema["properties"]["size"]["description"], "one of 1, 2, null");
    let arguments = json!({"mode": "fast", "size": 2, "node": {"next": {}}, "pair": ["a", 1]});
    assert_eq!(proxy.client.call("tree", &arguments.to_string()).await.text(), "done");
    assert_eq!(received(&mut proxy.client).await, ("tree".to_owned(), arguments));
    // The list no longer says it, so the proxy checks it.
    let answer = proxy.client.call("tree", r#"{"mode":"fast","size":3}"#).await.value();
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("invalid arguments for `tree`: `size`"));
}

#[tokio::test]
async fn a_root_union_is_one_object_for_claude_and_still_a_union_for_the_server() {
    let directory = TempDir::new();
    let schema = json!({
        "type": "object",
        "oneOf": [
            {"properties": {"kind": {"const": "file"}, "path": {"type": "string"}}, "required": ["kind", "path"]},
            {"properties": {"kind": {"const": "url"}, "url": {"type": "string"}}, "required": ["kind", "url"]},
        ],
    });
    let mut proxy = start(&directory, &[tool("fetch", schema)], "");
    introduce(&mut proxy.client, "claude-code").await;
    proxy.client.tools_until(|names| names.len() > 1).await;
    let tools = listed(&mut proxy.client).await;
    let fetch = named(&tools, "fetch");
    assert!(fetch["inputSchema"].get("oneOf").is_none(), "{fetch}");
    assert_eq!(fetch["description"], "Does it.\n\nArguments: one of (kind \"file\", path) or (kind \"url\", url).");
    assert_eq!(proxy.client.call("fetch", r#"{"kind":"url","url":"x"}"#).await.text(), "done");
    let answer = proxy.client.call("fetch", r#"{"kind":"url","path":"x"}"#).await.value();
    assert_eq!(answer["result"]["isError"], true, "{answer}");
}

#[tokio::test]
async fn a_call_that_no_step_concerns_is_forwarded_as_it_is() {
    let directory = TempDir::new();
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let mut proxy = start(&directory, &[tool("plain", schema)], "");
    introduce(&mut proxy.client, "gemini-cli-mcp-client").await;
    proxy.client.tools_until(|names| names.len() > 1).await;
    // Many servers accept more than they list.
    assert_eq!(proxy.client.call("plain", r#"{"n":"5"}"#).await.text(), "done");
    assert_eq!(received(&mut proxy.client).await.1, json!({"n": "5"}));
}

#[tokio::test]
async fn a_long_description_ends_where_the_client_cuts_it() {
    let directory = TempDir::new();
    let mut long = tool("long", json!({"type": "object"}));
    long["description"] = "A sentence of some length. ".repeat(200).into();
    let mut proxy = start(&directory, &[long], "");
    introduce(&mut proxy.client, "claude-code").await;
    proxy.client.tools_until(|names| names.len() > 1).await;
    let tools = listed(&mut proxy.client).await;
    let description = named(&tools, "long")["description"].as_str().unwrap();
    assert!(description.len() <= 2048 && description.len() > 1900, "{}", description.len());
    assert!(description.ends_with("length."), "{description}");
}
