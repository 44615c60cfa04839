//! What is in the log.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::{KEY, lines_until, parsed, text, world};
use crate::support::config::Config;
use crate::support::http_request::HttpRequest;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

#[tokio::test]
async fn every_use_of_an_item_is_a_line_without_its_arguments() {
    let mut proxy = world("results: digest").stdio();
    let client = &mut proxy.client;
    client.initialize("2025-11-25").await.result();
    client.request("tools/list", "{}").await.result();
    client.call("echo", r#"{"text":"s3cret-argument"}"#).await.result();
    client.call("echo", r#"{"text":"closed s3cret-argument"}"#).await.result();
    client.call("noted", r#"{"n":1}"#).await.result();
    client.call("noted", r#"{"n":"s3cret-argument"}"#).await.result();
    client.call("nothing", "{}").await.error_code();
    client.request("prompts/get", r#"{"name":"greet","arguments":{"who":"s3cret-argument"}}"#).await.result();
    client.request("resources/read", r#"{"uri":"memo://greeting"}"#).await.result();
    client.finish().await;

    let file = proxy.world.directory.path().join("logs/audit.jsonl");
    let mode = std::fs::metadata(&file).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let written = text(&proxy.world, "audit.jsonl");
    assert!(!written.contains("s3cret"), "{written}");
    let lines = parsed(&written);
    let kinds: Vec<_> = lines.iter().map(|line| (line["type"].as_str(), line["outcome"].as_str())).collect();
    let expected = [
        ("log_opened", None),
        ("mcp_tool_call", Some("success")),
        ("mcp_tool_call", Some("denied")),
        ("script", None),
        ("mcp_tool_call", Some("success")),
        ("mcp_tool_call", Some("failure")),
        ("mcp_tool_call", Some("failure")),
        ("mcp_prompt_get", Some("success")),
        ("mcp_resource_read", Some("success")),
        ("seal", None),
    ];
    assert_eq!(kinds, expected.map(|(kind, outcome)| (Some(kind), outcome)), "{written}");

    let [done, denied, script, wrapped] = [1, 2, 3, 4].map(|at| &lines[at]);
    assert_eq!(done["subject"]["client"], "test-client/1.0.0");
    assert_eq!(done["source"], json!({"type": "stdio"}));
    let target = &done["target"];
    assert_eq!(
        (&target["type"], &target["server"], &target["original"]),
        (&json!("tool"), &json!("fake"), &json!("echo"))
    );
    for digest in [&target["definition"], &done["policy"]["digest"], &done["prev"]] {
        assert!(digest.as_str().is_some_and(|text| text.starts_with("sha256:") && text.len() == 71), "{digest}");
    }
    for digest in [&done["arguments"]["digest"], &done["result"]["digest"]] {
        assert!(digest.as_str().is_some_and(|text| text.starts_with("hmac:")), "{done}");
    }
    assert_eq!((&done["calls"][0]["server"], &done["calls"][0]["name"]), (&json!("fake"), &json!("echo")));
    let policy = &denied["policy"];
    assert_eq!((&policy["by"], &policy["at"]), (&json!("on_request"), &json!("policy.star:4")), "{policy}");
    assert_eq!((&policy["digest"], &denied["calls"]), (&done["policy"]["digest"], &json!([])));
    assert_eq!((&script["message"], &script["fields"]["ticket"]), (&json!("noted"), &json!(7)));
    assert_eq!(wrapped["target"]["server"], Value::Null, "the script made it");
    assert_eq!(wrapped["calls"][0]["name"], "echo", "and called this");
    assert!(!proxy.client.stderr().text().contains(KEY));
}

#[tokio::test]
async fn requests_without_a_valid_token_are_in_the_log() {
    let config = Config::new()
        .server("fake", &fake_backend(["--only", "echo"]))
        .section("audit: { file: logs/audit.jsonl }\nauth: { tokens: [{ token: secret-token-of-a, sub: ann }] }");
    let proxy = Proxy::new(&config).http().await;
    let call = |token: &str| {
        let call = HttpRequest::modern("1", "tools/call", r#"{"name":"echo","arguments":{"a":1}}"#);
        call.header("Authorization", &format!("Bearer {token}"))
    };
    assert_eq!(proxy.client().send(&call("a-wrong-token-of-b")).await.status, 401);
    proxy.client().send(&call("secret-token-of-a")).await.response().await.result();
    let lines = lines_until(&proxy.world, "audit.jsonl", &proxy.program.stderr, |lines| lines.len() >= 3).await;
    let refused = &lines[1];
    assert_eq!((&refused["type"], &refused["outcome"]), (&json!("authentication"), &json!("denied")));
    assert_eq!((&refused["requests"], &refused["source"]["value"]), (&json!(1), &json!("127.0.0.1")));
    // Without a key there is nothing but the size of the arguments.
    assert_eq!((&lines[2]["subject"]["sub"], &lines[2]["arguments"]), (&json!("ann"), &json!({"bytes": 7})));
}
