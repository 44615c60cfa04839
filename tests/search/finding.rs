//! Given many tools, a client sees three, and finds and calls the others through them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{OPTIMIZED, desk, is_error, names, started, tool, world};
use crate::support::patience::LONG_PATIENCE;

#[tokio::test]
async fn three_tools_stand_for_all_and_tell_what_is_behind_them() {
    let mut proxy = started(world(&desk(), OPTIMIZED)).await;
    let list = proxy.client.request("tools/list", "{}").await;
    assert_eq!(list.tool_names(), ["find_tool", "describe_tool", "call_tool"]);
    let description = list.value()["result"]["tools"][0]["description"].to_string();
    assert!(description.contains("There are 5 tools, by server: desk (5)."), "{description}");
    assert_eq!(proxy.client.call("create_ticket", "{}").await.error_code(), -32602);
}

#[tokio::test]
async fn a_tool_is_found_and_called_in_both_eras() {
    let mut proxy = world(&desk(), OPTIMIZED).stdio();
    let find = r#"{"tool_description":"open tickets for a bug","tool_keywords":["issue"]}"#;
    let call = r#"{"tool_name":"create_ticket","parameters":{"n":1}}"#;
    let modern = [proxy.client.modern_call("find_tool", find).await, proxy.client.modern_call("call_tool", call).await];
    proxy.client.initialize("2025-11-25").await.result();
    let legacy = [proxy.client.call("find_tool", find).await, proxy.client.call("call_tool", call).await];
    for [found, called] in [modern, legacy] {
        let found: Value = serde_json::from_str(&found.structured()).unwrap();
        let expected = json!({"name": "create_ticket", "signature": "()", "description": "Opens a new ticket in the issue tracker."});
        assert_eq!(found["tools"][0], expected, "{found}");
        let metrics = &found["token_metrics"];
        let [baseline, returned] = ["baseline_tokens", "returned_tokens"].map(|key| metrics[key].as_i64().unwrap());
        assert!(baseline > returned && returned > 0, "{metrics}");
        let expected = 100.0 * (baseline - returned) as f64 / baseline as f64;
        assert!((metrics["savings_percent"].as_f64().unwrap() - expected).abs() < 0.1, "{metrics}");
        assert_eq!(metrics["estimated"], true);
        assert_eq!(called.structured(), r#"{"n":1}"#);
    }
}

#[tokio::test]
async fn a_misspelt_word_still_finds_its_tool() {
    let mut proxy = started(world(&desk(), OPTIMIZED)).await;
    assert_eq!(names(&proxy.find("wether forcast").await)[0], "weather-forecast");
    assert_eq!(names(&proxy.find("quxify the frobnicator").await), [""; 0]);
}

#[tokio::test]
async fn call_tool_forgives_one_mistake_and_explains_the_others() {
    let mut proxy = started(world(&desk(), OPTIMIZED)).await;
    let inside = r#"{"parameters":{"tool_name":"sendEmail","to":"ann"}}"#;
    assert_eq!(proxy.client.call("call_tool", inside).await.structured(), r#"{"to":"ann"}"#);
    let nested = r#"{"parameters":{"tool_name":"sendEmail","parameters":{"to":"bob"}}}"#;
    assert_eq!(proxy.client.call("call_tool", nested).await.structured(), r#"{"to":"bob"}"#);
    let bare = proxy.client.call("call_tool", r#"{"tool_name":"sendEmail"}"#).await;
    assert_eq!(bare.structured(), "{}");
    let text = r#"{"tool_name":"sendEmail","parameters":"{\"to\":\"ann\"}"}"#;
    assert_eq!(proxy.client.call("call_tool", text).await.structured(), r#"{"to":"ann"}"#);
    let empty = r#"{"tool_name":"sendEmail","parameters":""}"#;
    assert_eq!(proxy.client.call("call_tool", empty).await.structured(), "{}");
    for wrong in [
        "{}",
        r#"{"parameters":{"to":"ann"}}"#,
        r#"{"tool_name":"sendEmail","to":"ann"}"#,
        r#"{"tool_name":"sendEmail","parameters":"to ann"}"#,
        r#"{"tool_name":"sendEmail","parameters":"[1]"}"#,
        r#"{"tool_name":"sendEmail","parameters":[1]}"#,
        r#"{"tool_name":7,"parameters":{}}"#,
    ] {
        let answer = proxy.client.call("call_tool", wrong).await;
        assert!(is_error(&answer), "{}", answer.raw);
        let text = answer.text();
        assert!(text.contains("\"tool_name\"") && text.contains("\"parameters\""), "{wrong}: {text}");
    }
    let unknown = proxy.client.call("call_tool", r#"{"tool_name":"createTicket","parameters":{}}"#).await;
    assert!(is_error(&unknown), "{}", unknown.raw);
    assert!(
        unknown.text().contains("there is no tool `createTicket`; did you mean `create_ticket`"),
        "{}",
        unknown.raw
    );
}

#[tokio::test]
async fn the_schema_of_call_tool_says_what_is_required() {
    let mut proxy = started(world(&desk(), OPTIMIZED)).await;
    let list = proxy.client.request("tools/list", "{}").await.value();
    assert_eq!(list["result"]["tools"][2]["inputSchema"]["required"], json!(["tool_name", "parameters"]), "{list}");
}

#[tokio::test]
async fn only_tools_that_share_a_stem_with_the_query_are_found() {
    let mut tools = desk();
    tools.push(tool("post_card", "Posts a card."));
    let mut proxy = started(world(&tools, OPTIMIZED)).await;
    // `port` is one letter from `post`, and another word.
    let nothing = proxy.find("scan an open port").await;
    assert_eq!(names(&nothing), ["create_ticket"], "which opens a ticket: {nothing}");
    let nothing = proxy.find("scan a port").await;
    assert_eq!(names(&nothing), [""; 0], "{nothing}");
    assert!(nothing["message"].as_str().is_some_and(|message| message.contains("No tool")), "{nothing}");
    let found = proxy.find("posting cards").await;
    assert_eq!(names(&found), ["post_card"]);
    assert_eq!(found.get("message"), None, "{found}");
}

#[tokio::test]
async fn a_failing_tool_fails_through_call_tool_with_its_own_words() {
    let mut tools = desk();
    tools.push(tool("fail", "Fails."));
    let mut proxy = started(world(&tools, OPTIMIZED)).await;
    let answer =
        proxy.client.call("call_tool", r#"{"tool_name":"fail","parameters":{"message":"out of paper"}}"#).await;
    assert!(is_error(&answer) && answer.text().contains("out of paper"), "{}", answer.raw);
}

#[tokio::test]
async fn few_tools_are_listed_and_pinned_ones_too() {
    let few = "optimizer: { enabled: true }";
    let all = ["create_ticket", "sendEmail", "weather-forecast", "echo", "add_tool"];
    assert_eq!(started(world(&desk(), few)).await.client.request("tools/list", "{}").await.tool_names(), all);
    let many = "optimizer: { enabled: true, listBelow: 3, maxToolsToReturn: 1, pinned: [\"send*\", nothing], embedding: { provider: none } }";
    let mut proxy = started(world(&desk(), many)).await;
    let listed = proxy.client.request("tools/list", "{}").await.tool_names();
    assert_eq!(listed, ["sendEmail", "find_tool", "describe_tool", "call_tool"]);
    let line = proxy.client.stderr().line("optimizer.pinned names a tool that does not exist").await;
    assert!(line.contains("nothing"), "{line}");
    assert_eq!(proxy.find("a new ticket or the weather").await["tools"].as_array().unwrap().len(), 1);
    assert_eq!(proxy.client.call("sendEmail", "{}").await.structured(), "{}");
}

#[tokio::test]
async fn a_tool_that_a_server_adds_is_found_at_once() {
    let mut proxy = started(world(&desk(), OPTIMIZED)).await;
    assert_eq!(names(&proxy.find("launch a rocket").await), [""; 0]);
    let add = json!({"tool_name": "add_tool", "parameters": {"name": "launch_rocket"}}).to_string();
    proxy.client.call("call_tool", &add).await.result();
    let begin = Instant::now();
    while names(&proxy.find("launch a rocket").await) != ["launch_rocket"] {
        assert!(begin.elapsed() < LONG_PATIENCE, "the new tool is not found");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_script_searches_and_calls_what_it_chose() {
    let script = r#"
load("@proxy//lib@1.star", "aggregate")
tools = [(meta, call) for meta, call in aggregate(backends()) if meta.name != "sendEmail"]
tools.append((metadata("add", "Adds two numbers.", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}, {}), lambda args: args["a"] + 1))
index = search_index(tools)
def ask(args):
    if "call" in args:
        return index.call(args["call"], args["with"])
    found = index.search(args["query"], keywords = args.get("keywords", []), limit = 2)
    return {"names": [tool["name"] for tool in found], "backends": [tool["backend"] for tool in found], "known": index.get("sendEmail") != None, "all": len(index), "cost": count_tokens("open the door")}
publish(metadata("ask", "", {}, {}), ask)
"#;
    let proxy = world(&desk(), "sessionInit: { scriptFile: policy.star }").file("policy.star", script);
    let mut proxy = started(proxy).await;
    let answer: Value = serde_json::from_str(
        &proxy.client.call("ask", r#"{"query":"numbers","keywords":["adds"]}"#).await.structured(),
    )
    .unwrap();
    assert_eq!(answer["names"][0], "add", "{answer}");
    assert_eq!((&answer["backends"][0], &answer["known"], &answer["all"]), (&json!(null), &json!(false), &json!(5)));
    assert_eq!(answer["cost"], 3);
    let sum = proxy.client.call("ask", r#"{"call":"add","with":{"a":41}}"#).await;
    assert_eq!(sum.structured(), r#"{"result":42}"#);
    let wrong = proxy.client.call("ask", r#"{"call":"add","with":{"a":"x"}}"#).await;
    assert!(is_error(&wrong) && wrong.text().contains("invalid arguments for `add`: `a`"), "{}", wrong.raw);
    let hidden = proxy.client.call("ask", r#"{"call":"sendEmail","with":{}}"#).await;
    assert!(is_error(&hidden) && hidden.text().contains("there is no tool `sendEmail`"), "{}", hidden.raw);
}
