//! Names that are too long for a client, and names that its provider refuses.

use serde_json::json;

use super::{LONG, introduce, listed, named, received, start, stateless, tool};
use crate::support::message;
use crate::support::temp_dir::TempDir;

#[tokio::test]
async fn a_long_name_is_short_for_the_client_and_whole_for_the_server() {
    let directory = TempDir::new();
    let mut proxy = start(&directory, &[tool(LONG, json!({"type": "object"}))], "");
    introduce(&mut proxy.client, "claude-code").await;
    proxy.client.tools_until(|names| names.len() > 1).await;
    let tools = listed(&mut proxy.client).await;
    let short = named(&tools, "a_very_long")["name"].as_str().unwrap().to_owned();
    assert_eq!(short.len(), 64 - "mcp__proxy__".len());
    assert!(LONG.starts_with(&short[..short.len() - 9]), "{short}");
    for name in [short.as_str(), LONG] {
        assert_eq!(proxy.client.call(name, "{}").await.text(), "done", "{name}");
        assert_eq!(received(&mut proxy.client).await.0, LONG);
    }
}

#[tokio::test]
async fn a_client_that_nothing_is_known_of_gets_what_is_published() {
    let directory = TempDir::new();
    let mut proxy = start(&directory, &[tool(LONG, json!({"type": "object", "$ref": "#/$defs/a"}))], "");
    introduce(&mut proxy.client, "somebody").await;
    proxy.client.tools_until(|names| names.len() > 1).await;
    let answer = proxy.client.request("tools/list", "{}").await;
    let published = tool(LONG, json!({"type": "object", "$ref": "#/$defs/a"})).to_string();
    assert!(answer.raw.contains(&published), "{}", answer.raw);
    // The short name means nothing to it.
    let answer = proxy.client.call(&format!("{}_01234567", &LONG[..43]), "{}").await;
    assert!(answer.error_message().starts_with("unknown tool: "), "{}", answer.raw);
}

#[tokio::test]
async fn every_request_without_a_session_says_which_client_it_is() {
    let directory = TempDir::new();
    let mut proxy = start(&directory, &[tool(LONG, json!({"type": "object"}))], "");
    introduce(&mut proxy.client, "somebody").await;
    proxy.client.tools_until(|names| names.len() > 1).await;
    let names = stateless(&mut proxy.client, "claude-code", "tools/list", "{}").await.tool_names();
    let short = names.iter().find(|name| name.starts_with("a_very")).unwrap().clone();
    let call = message::call(&short, "{}");
    assert_eq!(stateless(&mut proxy.client, "claude-code", "tools/call", &call).await.text(), "done");
    // Another client has another short name, or none.
    let names = stateless(&mut proxy.client, "gemini-cli", "tools/list", "{}").await.tool_names();
    assert!(!names.contains(&short) && names.iter().any(|name| name.starts_with("a_very")), "{names:?}");
    for other in ["gemini-cli", "somebody", ""] {
        let answer = stateless(&mut proxy.client, other, "tools/call", &call).await;
        assert_eq!(answer.error_code(), -32602, "{other}: {}", answer.raw);
    }
    let whole = message::call(LONG, "{}");
    assert_eq!(stateless(&mut proxy.client, "gemini-cli", "tools/call", &whole).await.text(), "done");
}

#[tokio::test]
async fn two_tools_of_one_short_name_are_left_out_and_told() {
    let directory = TempDir::new();
    let mut proxy = start(&directory, &[tool(LONG, json!({"type": "object"}))], "");
    introduce(&mut proxy.client, "claude-code").await;
    proxy.client.tools_until(|names| names.len() > 1).await;
    let short = named(&listed(&mut proxy.client).await, "a_very_long")["name"].as_str().unwrap().to_owned();

    let other = TempDir::new();
    let tools = [tool(LONG, json!({"type": "object"})), tool(&short, json!({"type": "object"}))];
    let mut proxy = start(&other, &tools, "");
    introduce(&mut proxy.client, "claude-code").await;
    let names = proxy.client.tools_until(|names| names.len() > 1).await;
    assert_eq!(names, [short.as_str(), "seen"], "the tool whose own name it is stays");
    // What is called is the tool that has the name.
    assert_eq!(proxy.client.call(&short, "{}").await.text(), "done");
    assert_eq!(received(&mut proxy.client).await.0, short);
}

#[tokio::test]
async fn properties_with_refused_names_have_others_in_the_list_only() {
    let directory = TempDir::new();
    let schema = json!({
        "type": "object", "required": ["$.xgafv"],
        "properties": {"$.xgafv": {"type": "string"}, "n": {"type": "integer"}},
    });
    let mut proxy = start(&directory, &[tool("google", schema)], "");
    introduce(&mut proxy.client, "claude-code").await;
    proxy.client.tools_until(|names| names.len() > 1).await;
    let tools = listed(&mut proxy.client).await;
    let properties = &named(&tools, "google")["inputSchema"]["properties"];
    let short = properties.as_object().unwrap().keys().find(|name| name.contains("xgafv")).unwrap();
    assert!(short.starts_with("__xgafv_"), "{short}");
    assert_eq!(named(&tools, "google")["inputSchema"]["required"], json!([short]));
    let sent = json!({short: "1", "n": 2}).to_string();
    assert_eq!(proxy.client.call("google", &sent).await.text(), "done");
    assert_eq!(received(&mut proxy.client).await.1, json!({"$.xgafv": "1", "n": 2}));
    // Nobody knows which of two counts.
    let both = json!({short: "1", "$.xgafv": "2"}).to_string();
    assert_eq!(proxy.client.call("google", &both).await.error_code(), -32602);
    // What the client was not told is checked where it is known.
    let wrong = proxy.client.call("google", r#"{"$.xgafv": 5}"#).await.value();
    assert_eq!(wrong["result"]["isError"], true, "{wrong}");
}

#[tokio::test]
async fn what_clients_call_the_proxy_counts_toward_the_length() {
    let directory = TempDir::new();
    let section = "clients: {serverName: a-rather-long-server-name}";
    let mut proxy = start(&directory, &[tool(LONG, json!({"type": "object"}))], section);
    introduce(&mut proxy.client, "cursor-vscode").await;
    proxy.client.tools_until(|names| names.len() > 1).await;
    let tools = listed(&mut proxy.client).await;
    let short = named(&tools, "a_very")["name"].as_str().unwrap();
    assert_eq!(short.len() + "a-rather-long-server-name".len(), 59);

    let other = TempDir::new();
    let mut proxy = start(&other, &[tool(LONG, json!({"type": "object"}))], "clients: {dialects: off}");
    introduce(&mut proxy.client, "cursor-vscode").await;
    let names = proxy.client.tools_until(|names| names.len() > 1).await;
    assert!(names.contains(&LONG.to_owned()), "{names:?}");
}
