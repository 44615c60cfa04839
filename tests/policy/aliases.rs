//! The user interface of a tool knows its server's own names only. By whatever name an item is reached, policy sees the
//! published one.

use serde_json::json;

use super::{serving, world_of};
use crate::support::proxy::StdioProxy;

/// Its interface is a resource that the server lists.
const BOARD: &str =
    r#"{"name":"board","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"memo://greeting"}}}"#;
const WRAPPED: &str = r#"{"name":"wrapped","inputSchema":{"type":"object"}}"#;

/// Renames everything, wraps some of it, and refuses by published names.
const SCRIPT: &str = r#"
def on_request(request):
    print("asked %s %s" % (request.method, request.name))
    if request.name in ["team_board", "team_wrapped", "team_maybe", "team://greeting"]:
        if not request.arguments.get("pass"):
            fail("refused by the policy")

def wrapping(call):
    return lambda args: {"wrapped": unwrap(call(args))}

for meta, call in backends()["fake"].tools():
    publish(meta.replace(name = "team_" + meta.name), wrapping(call) if meta.name == "wrapped" else call)

for meta, call in backends()["fake"].resources():
    publish_resource(meta.replace(uri = "team://" + meta.name), call)
"#;

fn asked(proxy: &StdioProxy) -> Vec<String> {
    let log = proxy.client.stderr().text();
    let line = |line: &str| Some(line.split_once("asked ")?.1.split(" tool=").next()?.to_owned());
    log.lines().filter_map(line).collect()
}

#[tokio::test]
async fn a_tool_called_by_its_servers_own_name_is_refused_like_the_published_one() {
    let mut proxy = serving(&[BOARD, WRAPPED], SCRIPT).await;
    for name in ["team_board", "board", "team_wrapped", "wrapped"] {
        let refused = proxy.client.call(name, "{}").await;
        assert!(refused.text().starts_with("refused by the policy"), "{name}: {}", refused.raw);
        let refused = proxy.client.modern_call(name, "{}").await;
        assert!(refused.text().starts_with("refused by the policy"), "{name}: {}", refused.raw);
    }
    assert_eq!(proxy.client.call("board", r#"{"pass":true}"#).await.structured(), r#"{"pass":true}"#);
    let wrapped = proxy.client.call("wrapped", r#"{"pass":true}"#).await;
    assert_eq!(wrapped.structured(), r#"{"wrapped":{"pass":true}}"#);
    proxy.client.stderr().times("asked ", 10).await;
    let names = asked(&proxy);
    assert_eq!(names.len(), 10, "{names:?}");
    assert!(names.iter().all(|line| line.starts_with("tools/call team_")), "{names:?}");
}

#[tokio::test]
async fn a_task_by_the_servers_own_name_is_refused_like_the_published_one() {
    let mut proxy = world_of(&["--era", "legacy", "--tasks", "--resources"], &[BOARD], SCRIPT).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    for name in ["team_maybe", "maybe"] {
        let params = json!({"name": name, "arguments": {}, "task": {}}).to_string();
        let refused = proxy.client.request("tools/call", &params).await;
        assert!(refused.raw.contains("refused by the policy"), "{}", refused.raw);
    }
    proxy.client.stderr().times("asked ", 2).await;
    assert_eq!(asked(&proxy), ["tools/call team_maybe", "tools/call team_maybe"]);
}

#[tokio::test]
async fn an_interface_read_by_its_servers_own_uri_is_refused_like_the_published_one() {
    let mut proxy = serving(&[BOARD], SCRIPT).await;
    for uri in ["team://greeting", "memo://greeting"] {
        let params = json!({ "uri": uri }).to_string();
        let refused = proxy.client.request("resources/read", &params).await;
        assert!(refused.error_message().starts_with("refused by the policy"), "{}", refused.raw);
        let refused = proxy.client.modern("resources/read", &params).await;
        assert!(refused.error_message().starts_with("refused by the policy"), "{}", refused.raw);
    }
    // Another resource of the server is only there under its published URI.
    let read = proxy.client.request("resources/read", r#"{"uri":"team://farewell"}"#).await.value();
    assert_eq!(read["result"]["contents"][0]["text"], "the text of memo://farewell");
    assert_eq!(proxy.client.request("resources/read", r#"{"uri":"memo://farewell"}"#).await.error_code(), -32002);
    assert!(asked(&proxy).iter().all(|line| line.starts_with("resources/read team://")), "{:?}", asked(&proxy));
}

#[tokio::test]
async fn the_handler_of_a_renamed_interface_also_answers_for_its_servers_own_uri() {
    let script = r#"
for meta, call in backends()["fake"].tools():
    publish(meta, call)
for meta, call in backends()["fake"].resources():
    publish_resource(meta.replace(uri = "team://" + meta.name), lambda args: "redacted")
"#;
    let mut proxy = serving(&[BOARD], script).await;
    for uri in ["team://greeting", "memo://greeting"] {
        let read = proxy.client.request("resources/read", &json!({ "uri": uri }).to_string()).await.value();
        assert_eq!(read["result"]["contents"][0]["text"], "redacted", "{uri}");
    }
}

#[tokio::test]
async fn a_name_leads_to_the_published_handler_and_not_past_it() {
    // What was `board` is published under the name and with the handler of another tool of the server.
    let script = r#"
tools = {meta.name: (meta, call) for meta, call in backends()["fake"].tools()}
publish(tools["board"][0].replace(name = "params"), tools["params"][1])
"#;
    let params = r#"{"name":"params","inputSchema":{"type":"object"}}"#;
    let mut proxy = serving(&[BOARD, params], script).await;
    let reached = proxy.client.call("board", "{}").await.raw;
    assert!(reached.contains(r#"\"name\":\"params\""#) && !reached.contains("board"), "{reached}");
}

#[tokio::test]
async fn a_rate_limit_counts_every_name_of_a_tool() {
    let script = r#"
load("@proxy//lib@1.star", "rate_limiter")

for meta, call in backends()["fake"].tools():
    publish(meta.replace(name = "team_" + meta.name), call)

limit = {"maxTokens": 2, "refillPeriod": 3600.0}
on_request = rate_limiter({"tools": [{"name": "team_board", "global": limit}]})
"#;
    let mut proxy = serving(&[BOARD], script).await;
    for name in ["board", "team_board"] {
        assert_eq!(proxy.client.call(name, "{}").await.structured(), "{}");
    }
    let refused = proxy.client.call("board", "{}").await.value();
    assert_eq!(refused["result"]["isError"], true, "{refused}");
}

#[tokio::test]
async fn a_model_reaches_a_tool_by_its_published_name_only() {
    let script = r#"
def on_request(request):
    print("asked %s %s" % (request.method, request.name))

tools = [(meta.replace(name = "team_" + meta.name), call) for meta, call in backends()["fake"].tools()]
index = search_index(tools)
for meta, call in tools:
    publish(meta, call)
loose = {"type": "object"}
publish(metadata("call_tool", "", loose, {}), lambda args: index.call(args["name"], args["args"]))
publish(metadata("run", "", loose, {}), lambda args: run_script(args["script"], index))
"#;
    let mut proxy = serving(&[BOARD], script).await;
    let called = proxy.client.call("call_tool", r#"{"name":"team_board","args":{"n":1}}"#).await;
    assert_eq!(called.structured(), r#"{"n":1}"#);
    let run = proxy.client.call("run", r#"{"script":"return team_board(n = 2)"}"#).await;
    assert_eq!(run.structured(), r#"{"result":{"n":2}}"#);
    for (tool, arguments) in
        [("call_tool", r#"{"name":"board","args":{}}"#), ("run", r#"{"script":"return call_tool('board', {})"}"#)]
    {
        assert_eq!(proxy.client.call(tool, arguments).await.value()["result"]["isError"], true, "{tool}");
    }
    assert_eq!(
        asked(&proxy).iter().filter(|line| line.contains("board")).collect::<Vec<_>>(),
        ["tools/call team_board", "tools/call team_board"]
    );
}
