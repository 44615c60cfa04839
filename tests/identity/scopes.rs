//! Scopes that some tools need beyond those of every request.

use serde_json::json;

use super::{client, config};
use crate::support::http_request::HttpRequest;
use crate::support::issuer::Issuer;
use crate::support::message;
use crate::support::proxy::{HttpProxy, Proxy};

const RULES: &str =
    ", requiredScopes: [mcp], scopes: [{tools: add_*, scopes: [write, add]}, {tools: '*_tool', scopes: [tools]}]";

async fn optimized(issuer: &Issuer) -> HttpProxy {
    let text = config(issuer, "", RULES).text().replace("scriptFile: policy.star", "preset: optimizer");
    Proxy::with_config_text(&text).http().await
}

#[tokio::test]
async fn a_tool_that_needs_scopes_names_all_of_them_at_once_in_both_eras() {
    let issuer = Issuer::start().await;
    let proxy = Proxy::new(&config(&issuer, "", RULES)).file("policy.star", super::SCRIPT).http().await;
    let mut ann = client(&proxy, &issuer.token_with("ann", json!({"scope": "mcp write"})));
    ann.initialize("2025-11-25").await.result();
    let add = message::call("add_tool", r#"{"name":"x"}"#);
    let batch = |version: &str| format!("[{}]", message::request(version, "tools/call", &add));
    for request in
        [HttpRequest::modern("1", "tools/call", &add), ann.legacy(&message::request("1", "tools/call", &add))]
    {
        let reply = ann.send(&request).await;
        let challenge = reply.header("www-authenticate").unwrap_or_default().to_owned();
        assert_eq!(reply.status, 403, "{challenge}");
        assert!(challenge.contains(r#"error="insufficient_scope""#) && challenge.contains("resource_metadata="));
        assert!(challenge.contains(r#"scope="mcp write add tools""#), "{challenge}");
        let error = reply.response().await;
        assert_eq!(error.id().as_deref(), Some("1"));
        assert!(error.error_message().contains("mcp write add tools"), "{}", error.raw);
    }
    ann.call("echo", "{}").await.result();
    assert!(ann.request("tools/list", "{}").await.tool_names().contains(&"add_tool".to_owned()), "it is listed");
    let mut allowed = client(&proxy, &issuer.token_with("ann", json!({"scp": ["mcp", "write", "add", "tools"]})));
    allowed.modern_call("add_tool", r#"{"name":"x"}"#).await.result();
    // A batch is refused as a whole.
    let mut old = client(&proxy, &issuer.token_with("ann", json!({"scope": "mcp"})));
    old.initialize("2025-03-26").await.result();
    assert_eq!(old.send(&old.legacy(&batch("3"))).await.status, 403);
}

#[tokio::test]
async fn a_missing_scope_is_a_refusal_in_the_audit_log() {
    let issuer = Issuer::start().await;
    let text = format!("{}audit: {{ file: audit.jsonl }}\n", config(&issuer, "", RULES).text());
    let mut proxy = Proxy::with_config_text(&text).file("policy.star", super::SCRIPT).http().await;
    // When somebody calls a tool without its scopes,
    let ann = client(&proxy, &issuer.token_with("ann", json!({"scope": "mcp"})));
    let call = HttpRequest::modern("1", "tools/call", &message::call("add_tool", r#"{"name":"x"}"#));
    assert_eq!(ann.send(&call).await.status, 403);
    // then an auditor sees who wanted what, and why it was refused.
    proxy.program.terminate();
    proxy.program.exit().await;
    let log = std::fs::read_to_string(proxy.world.directory.path().join("audit.jsonl")).expect("it was written");
    let lines: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect();
    let denied = lines.iter().find(|line| line["type"] == "mcp_tool_call").expect("the call is in the log");
    assert_eq!((&denied["outcome"], &denied["policy"]["by"]), (&json!("denied"), &json!("scope")), "{log}");
    assert_eq!((&denied["subject"]["sub"], &denied["target"]["name"]), (&json!("ann"), &json!("add_tool")));
    assert_eq!(denied["policy"]["why"], "this requires the scopes write add tools");
}

#[tokio::test]
async fn a_tool_behind_another_needs_its_scopes_too() {
    let issuer = Issuer::start().await;
    let proxy = optimized(&issuer).await;
    let mut ann = client(&proxy, &issuer.token_with("ann", json!({"scope": "mcp tools"})));
    let found = ann.modern_call("find_tool", r#"{"tool_description":"add a tool"}"#).await;
    assert!(found.raw.contains("add_tool"), "what is found says nothing about what is allowed: {}", found.raw);
    let arguments = r#"{"tool_name":"add_tool","parameters":{"name":"x"}}"#;
    let call = HttpRequest::modern("1", "tools/call", &message::call("call_tool", arguments));
    let reply = ann.send(&call).await;
    assert_eq!(reply.status, 403);
    assert!(reply.header("www-authenticate").unwrap_or_default().contains(r#"scope="mcp tools write add""#));
    ann.modern_call("call_tool", r#"{"tool_name":"echo","parameters":{}}"#).await.result();

    // Where the answer has begun, the model reads which scopes it needs.
    let text = config(&issuer, "", RULES).text().replace("scriptFile: policy.star", "preset: code-mode");
    let proxy = Proxy::with_config_text(&text).http().await;
    let mut ann = client(&proxy, &issuer.token_with("ann", json!({"scope": "mcp"})));
    let script = r#"{"script":"return add_tool(name = 'x')"}"#;
    let refused = ann.modern_call("execute_tool_script", script).await;
    assert!(refused.raw.contains("this requires the scopes write add tools"), "{}", refused.raw);
}

#[tokio::test]
async fn static_tokens_need_no_required_scopes_but_those_of_items() {
    let issuer = Issuer::start().await;
    let tokens = format!(
        "{RULES}, tokens: [{{token: secret-token-of-a, sub: ann}}, {{token: secret-token-of-b, sub: bob, scopes: [write, add, tools]}}]"
    );
    let config = config(&issuer, ", prefix: 'corp:'", &tokens);
    let proxy = Proxy::new(&config).file("policy.star", super::SCRIPT).http().await;
    let call = HttpRequest::modern("1", "tools/call", &message::call("add_tool", r#"{"name":"x"}"#));
    let mut ann = client(&proxy, "secret-token-of-a");
    ann.modern_call("echo", "{}").await.result();
    assert_eq!(ann.send(&call).await.status, 403);
    assert_eq!(client(&proxy, "secret-token-of-b").send(&call).await.status, 200);
}
