//! Calls of published tools, from the request to the handler, in one process.

use std::time::Duration;

use serde_json::{Value, json};

use crate::test_world::TestWorld;
use proxy_mcp_client::CallError;
use proxy_model::Principal;

const ALL: &str = "
for meta, call in backends()['kit'].tools():
    publish(meta, call)
";

/// Publishes `wrapped`, with this function as its handler. `call` is the tool `echo` of the extension.
fn wrapped(handler: &str) -> String {
    format!(
        "tools = {{meta.name: call for meta, call in backends()['kit'].tools()}}\n{handler}\n\
         publish(metadata('wrapped', '', {{}}, {{}}), handler)\n"
    )
}

async fn call(script: &str, tool: &str, arguments: Value) -> Result<Value, CallError> {
    let world = TestWorld::new(script);
    let request = world.request(&Principal::anonymous()).await;
    world.call(&request, tool, arguments).await
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn a_published_tool_is_called_and_its_result_passed_on() {
    let result = call(ALL, "echo", json!({"text": "hello"})).await.unwrap();
    assert_eq!(result["structuredContent"], json!({"text": "hello"}));
}

#[tokio::test]
async fn what_is_not_published_does_not_exist() {
    for name in ["nothing", "kit", ""] {
        assert!(matches!(call(ALL, name, json!({})).await, Err(CallError::Unknown)), "{name}");
    }
}

#[tokio::test]
async fn a_tool_that_is_published_under_another_name_has_only_that_name() {
    let script = "
for meta, call in backends()['kit'].tools():
    publish(meta.replace(name = 'my_' + meta.name), call)
";
    assert_eq!(call(script, "my_echo", json!({"text": "x"})).await.unwrap()["structuredContent"]["text"], "x");
    assert!(matches!(call(script, "echo", json!({})).await, Err(CallError::Unknown)));
}

#[tokio::test]
async fn a_tool_that_fails_gives_a_result_that_says_so() {
    let result = call(ALL, "broken", json!({})).await.unwrap();
    assert_eq!(result["isError"], true);
    assert!(text(&result).contains("out of order"), "{result}");
}

#[tokio::test]
async fn arguments_of_the_wrong_type_do_not_reach_the_tool() {
    let result = call(ALL, "echo", json!({"text": 1})).await.unwrap();
    assert_eq!(result["isError"], true, "{result}");
    assert!(text(&result).contains("text"), "{result}");
}

#[tokio::test]
async fn a_handler_changes_arguments_and_results() {
    let script = wrapped(
        "def handler(args):\n    return {'said': tools['echo']({'text': args['a'] + '!'})['structuredContent']['text']}",
    );
    let result = call(&script, "wrapped", json!({"a": "hi"})).await.unwrap();
    assert_eq!(result["structuredContent"], json!({"said": "hi!"}), "{result}");
}

#[tokio::test]
async fn a_handler_that_is_wrong_is_told_with_its_line() {
    let result = call(&wrapped("def handler(args):\n    return 1 // 0"), "wrapped", json!({})).await.unwrap();
    assert_eq!(result["isError"], true);
    assert!(text(&result).contains("script:3"), "{result}");
}

#[tokio::test]
async fn on_request_refuses_a_call_before_the_tool_runs() {
    let script =
        format!("{ALL}\ndef on_request(request):\n    if request.name == 'echo':\n        fail('not today')\n");
    let result = call(&script, "echo", json!({})).await.unwrap();
    assert_eq!(result["isError"], true);
    assert!(text(&result).contains("not today"), "{result}");
}

#[tokio::test]
async fn a_tool_needs_the_scopes_that_the_config_names() {
    let world =
        TestWorld::with_sections(ALL, &json!({"auth": {"scopes": [{"tools": "echo", "scopes": ["notes:write"]}]}}));
    let with_scope = |scope: &str| Principal::named("ann").with(|ann| ann.scopes = vec![scope.to_owned()].into());
    let request = world.request(&with_scope("notes:read")).await;
    let refused = world.call(&request, "echo", json!({})).await.unwrap();
    assert_eq!(refused["isError"], true);
    assert!(text(&refused).contains("notes:write"), "{refused}");
    let request = world.request(&with_scope("notes:write")).await;
    assert_ne!(world.call(&request, "echo", json!({})).await.unwrap()["isError"], true);
}

#[tokio::test]
async fn a_call_that_is_cancelled_ends_without_a_result() {
    let world = TestWorld::new(ALL);
    let request = world.request(&Principal::anonymous()).await;
    let cancel = request.cancel.clone();
    let (outcome, ()) = tokio::join!(world.call(&request, "slow", json!({})), async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        cancel.token().cancel();
    });
    assert!(matches!(outcome, Err(CallError::Cancelled)), "{outcome:?}");
}
