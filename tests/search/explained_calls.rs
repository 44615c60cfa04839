//! A call through `call_tool` with wrong arguments gets an answer from which a model can make the right call.

use serde_json::{Value, json};

use super::{OPTIMIZED, is_error, started, world};
use crate::elicitation::{Client, EVERYTHING};
use crate::support::config::Config;
use crate::support::message::Message;
use crate::support::programs::fake_backend;
use crate::support::proxy::{Proxy, StdioProxy};

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {"title": {"type": "string"}, "count": {"type": "integer"}, "body": {"type": "string"}},
        "required": ["title", "count"],
    })
}

/// A tool that returns its arguments, and tools that fail as they are told.
fn sections(more: &str) -> Proxy {
    let tool = json!({"name": "create_issue", "description": "Creates an issue.", "inputSchema": schema()});
    let proxy = world(&[tool], more);
    let file = proxy.directory.path().join("tools.json");
    let command =
        fake_backend(["--tools", file.to_str().expect("a path"), "--builtin", "--only", "fail,rpc_error,raw"]);
    proxy.directory.write("proxy.yaml", &Config::new().server("desk", &command).section(more).text());
    proxy
}

impl StdioProxy {
    async fn call_tool(&mut self, name: &str, parameters: Value) -> Message {
        self.client.call("call_tool", &json!({"tool_name": name, "parameters": parameters}).to_string()).await
    }
}

#[track_caller]
fn assert_explained(answer: &Message, words: &str, signature: &str) -> Value {
    assert!(is_error(answer), "{}", answer.raw);
    let value = answer.value();
    let texts: Vec<&str> = value["result"]["content"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|block| block["text"].as_str())
        .collect();
    assert_eq!(texts, [words, signature], "{}", answer.raw);
    let told = value["result"]["structuredContent"].clone();
    assert_eq!(told["error"], "invalid_arguments", "{}", answer.raw);
    assert!(!value["result"]["_meta"].to_string().contains("invalidParams"), "{}", answer.raw);
    told
}

const CREATE_ISSUE: &str = "create_issue(title: str, count: int, body?: str)";

#[tokio::test]
async fn a_missing_argument_is_named_with_the_signature_and_the_schema() {
    let mut proxy = started(sections(OPTIMIZED)).await;
    let told = assert_explained(
        &proxy.call_tool("create_issue", json!({})).await,
        "`title` and `count` are required",
        CREATE_ISSUE,
    );
    assert_eq!(told, json!({"error": "invalid_arguments", "tool": "create_issue", "inputSchema": schema()}));
    let answer = proxy.call_tool("create_issue", json!({"title": "Crash"})).await;
    assert_explained(&answer, "`count` is required", CREATE_ISSUE);
}

#[tokio::test]
async fn everything_else_is_for_the_server_to_judge() {
    let mut proxy = started(sections(OPTIMIZED)).await;
    // Servers accept more than their schemas say.
    let loose = json!({"title": "Crash", "count": "5", "other": null});
    let answer = proxy.call_tool("create_issue", loose.clone()).await;
    assert_eq!(serde_json::from_str::<Value>(&answer.structured()).expect("JSON"), loose);
    // A tool that fails with arguments that its schema allows failed for another reason.
    let failed = proxy.call_tool("fail", json!({"message": "out of paper"})).await;
    assert!(is_error(&failed) && failed.text() == "out of paper", "{}", failed.raw);
    assert!(!failed.raw.contains("structuredContent"), "{}", failed.raw);
    let refused = proxy.call_tool("rpc_error", json!({"code": -32000, "message": "not today"})).await;
    assert!(is_error(&refused) && refused.text() == "not today", "{}", refused.raw);
    assert!(!refused.raw.contains("structuredContent"), "{}", refused.raw);
}

#[tokio::test]
async fn the_servers_own_words_come_first() {
    let mut proxy = sections(OPTIMIZED).stdio();
    let invalid = r#"{"tool_name":"rpc_error","parameters":{"code":-32602,"message":"code is odd"}}"#;
    let failed = r#"{"tool_name":"fail","parameters":{"message":7}}"#;
    let modern =
        [proxy.client.modern_call("call_tool", invalid).await, proxy.client.modern_call("call_tool", failed).await];
    proxy.client.initialize("2025-11-25").await.result();
    let legacy = [proxy.client.call("call_tool", invalid).await, proxy.client.call("call_tool", failed).await];
    for [invalid, failed] in [modern, legacy] {
        let told = assert_explained(&invalid, "code is odd", "rpc_error(code?: int, message?: str, \"data\"?: any)");
        assert_eq!(told["tool"], "rpc_error");
        let told = assert_explained(&failed, "failed on demand", "fail(message?: str)");
        assert_eq!(told["inputSchema"]["properties"]["message"]["type"], "string", "{told}");
    }
}

#[tokio::test]
async fn a_schema_without_room_is_left_out() {
    let tight =
        "sessionInit: { preset: optimizer@1 }\noptimizer: { maxAnswerTokens: 40, embedding: { provider: none } }";
    let mut proxy = started(sections(tight)).await;
    let told = assert_explained(
        &proxy.call_tool("create_issue", json!({})).await,
        "`title` and `count` are required",
        CREATE_ISSUE,
    );
    assert_eq!(told, json!({"error": "invalid_arguments", "tool": "create_issue"}));
}

#[tokio::test]
async fn direct_calls_and_calls_of_scripts_stay_as_they_are() {
    // Given the same tool published directly, and by a script that calls it through an index
    let script = r#"
index = search_index(backends()["desk"].tools())
for meta, call in backends()["desk"].tools():
    publish(meta, call)
publish(metadata("plain", "", {}, {}), lambda args: index.call(args["name"], args["with"]))
publish(metadata("explained", "", {}, {}), lambda args: index.call(args["name"], args["with"], explain = True))
schema = {"type": "object", "properties": {"who": {"type": "string"}}, "required": ["who"]}
def greet(args):
    return error("nobody to greet") if "name" not in args else "Hello " + args["name"]
own = search_index([
    (metadata("checked", "", schema, {}), lambda args: args["who"]),
    (metadata("unchecked", "", schema, {}), unchecked(greet)),
])
publish(metadata("own", "", {}, {}), lambda args: own.call(args["name"], args["with"], explain = True))
"#;
    let mut proxy = started(sections("sessionInit: { scriptFile: policy.star }").file("policy.star", script)).await;
    // When arguments are missing, then the server decides
    assert_eq!(proxy.client.call("create_issue", "{}").await.structured(), "{}");
    assert_eq!(proxy.client.call("rpc_error", r#"{"code":-32602}"#).await.error_code(), -32602);
    let ask = |name: &str, with: Value| json!({"name": name, "with": with}).to_string();
    assert_eq!(proxy.client.call("plain", &ask("create_issue", json!({}))).await.structured(), "{}");
    let plain = proxy.client.call("plain", &ask("rpc_error", json!({"code": -32602, "message": "odd"}))).await;
    assert!(is_error(&plain) && plain.text() == "odd" && !plain.raw.contains("_meta"), "{}", plain.raw);
    // And what a script asks to be explained is explained, without a limit
    let explained = proxy.client.call("explained", &ask("create_issue", json!({}))).await;
    let told = assert_explained(&explained, "`title` and `count` are required", CREATE_ISSUE);
    assert_eq!(told["inputSchema"], schema());
    // A tool of the script is checked whole
    let wrong = proxy.client.call("own", &ask("checked", json!({"who": 7}))).await;
    assert!(
        is_error(&wrong) && wrong.raw.contains("invalid_arguments") && wrong.raw.contains("checked(who: str)"),
        "{}",
        wrong.raw
    );
    // And one that reads its arguments itself gets them, though `who` is missing
    let read = proxy.client.call("own", &ask("unchecked", json!({"name": "Ann"}))).await;
    assert_eq!(read.text(), "Hello Ann");
    let unread = proxy.client.call("own", &ask("unchecked", json!({}))).await;
    assert_explained(&unread, "nobody to greet", "unchecked(who: str)");
}

#[tokio::test]
async fn an_explanation_is_the_same_after_a_question() {
    // Given a handler that is explained a call, and then asks its user
    let script = r#"
index = search_index(backends()["desk"].tools())
def handler(args):
    told = index.call("rpc_error", {"code": -32602, "message": "odd"}, explain = True)
    said = elicit("Sure?", when_unavailable = "error").action
    return {"said": said, "error": told["structuredContent"]["error"], "words": [block["text"] for block in told["content"]]}
publish(metadata("handler", "", {}, {}), handler)
"#;
    let proxy = sections("sessionInit: { scriptFile: policy.star }").file("policy.star", script);
    // When the client answers in another round, in which the handler runs again
    let mut client = Client::at(proxy, true, EVERYTHING).await;
    let (questions, outcome) = client.converse("handler", json!({}), json!({"action": "accept"})).await;
    // Then the recorded call is explained as before
    let words = ["odd", "rpc_error(code?: int, message?: str, \"data\"?: any)"];
    let expected = json!({"said": "accept", "error": "invalid_arguments", "words": words});
    assert_eq!((questions.len(), &outcome["result"]["structuredContent"]), (1, &expected), "{outcome}");
}
