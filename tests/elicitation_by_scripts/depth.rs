//! Questions anywhere in a handler: several of them, in branches, in calls of other tools; before and after what is
//! done to servers.

use serde_json::{Value, json};

use super::{accept, client, messages, reached, text};

#[tokio::test]
async fn what_was_done_before_a_question_is_not_done_again() {
    let script = r#"
def handler(args):
    log("handled once")
    before = tools["echo"]({"step": "first"})
    one = elicit("One?", when_unavailable = "error")
    between = tools["echo"]({"step": "second"})
    two = attempt(elicit, "Two?", when_unavailable = "error").value
    after = tools["echo"]({"step": "third"})
    return [unwrap(before)["step"], one.action, unwrap(between)["step"], two.action, unwrap(after)["step"]]
show("handler", handler)
"#;
    for modern in [false, true] {
        let mut client = client(script, modern).await;
        let (questions, outcome) = client.converse("handler", json!({}), accept()).await;
        assert_eq!(messages(&questions), ["One?", "Two?"], "modern {modern}: {outcome}");
        assert_eq!(text(&outcome), r#"["first","accept","second","accept","third"]"#, "modern {modern}");
        for step in ["first", "second", "third"] {
            assert_eq!(reached(&mut client, step).await, 1, "modern {modern}: {step}");
        }
        client.proxy.client.stderr().line("handled once").await;
        let logged = client.proxy.client.stderr().text();
        assert_eq!(logged.matches("handled once").count(), 1, "{logged}");
    }
}

#[tokio::test]
async fn branches_are_asked_together_when_each_has_ended_or_waits() {
    let script = r#"
def branch(name):
    tools["echo"]({"before": name})
    answer = elicit("Branch %s?" % name, when_unavailable = "error") if name != "c" else None
    tools["echo"]({"after": name})
    return answer.action if answer else "not asked"
def handler(args):
    return parallel([partial(branch, name) for name in ["a", "b", "c"]], limit = 1)
show("handler", handler)
"#;
    for modern in [false, true] {
        let mut client = client(script, modern).await;
        if modern {
            let first = client.modern_call(&json!({"name": "handler", "arguments": {}})).await.value();
            assert_eq!(first["result"]["inputRequests"].as_object().map(serde_json::Map::len), Some(2), "{first}");
            continue;
        }
        let (questions, outcome) = client.converse("handler", json!({}), accept()).await;
        let mut asked = messages(&questions);
        asked.sort();
        assert_eq!(asked, ["Branch a?", "Branch b?"], "{outcome}");
        assert_eq!(text(&outcome), r#"["accept","accept","not asked"]"#);
        for call in
            ["before", "after"].iter().flat_map(|when| ["a", "b", "c"].map(|name| format!("\"{when}\":\"{name}\"")))
        {
            assert_eq!(
                reached(&mut client, &call.replace('"', "\\\"")).await + reached(&mut client, &call).await,
                1,
                "{call}"
            );
        }
    }
}

#[tokio::test]
async fn the_answers_of_branches_go_to_their_own_questions() {
    let script = r#"
def branch(name):
    form = {"type": "object", "properties": {"word": {"type": "string"}}}
    return elicit(name, form, when_unavailable = "error").content["word"]
show("handler", lambda args: parallel([lambda: branch("a"), lambda: branch("b")]))
"#;
    for modern in [false, true] {
        let mut client = client(script, modern).await;
        let answer = |question: &Value| {
            let asked = question["params"]["message"].as_str().expect("a message");
            json!({"action": "accept", "content": {"word": format!("for {asked}")}})
        };
        let params = json!({"name": "handler", "arguments": {}});
        let (_, outcome) = client.converse_with("tools/call", params, answer).await;
        assert_eq!(text(&outcome), r#"["for a","for b"]"#, "modern {modern}: {outcome}");
    }
}

#[tokio::test]
async fn a_tool_that_a_tool_calls_may_ask() {
    let script = r#"
def inner(args):
    tools["echo"]({"inner": args["n"]})
    return {"said": elicit("Inner %d?" % args["n"], when_unavailable = "error").action}
index = search_index([(metadata("inner", "", {"type": "object", "properties": {"n": {"type": "integer"}}}, {}), inner)])
def call_tool(args):
    first = index.call("inner", {"n": 1})
    second = index.call("inner", {"n": 2})
    last = elicit("Outer?", when_unavailable = "error")
    return [unwrap(first)["said"], unwrap(second)["said"], last.action]
show("call_tool", call_tool)
"#;
    for modern in [false, true] {
        let mut client = client(script, modern).await;
        let (questions, outcome) = client.converse("call_tool", json!({}), accept()).await;
        assert_eq!(messages(&questions), ["Inner 1?", "Inner 2?", "Outer?"], "modern {modern}: {outcome}");
        assert_eq!(text(&outcome), r#"["accept","accept","accept"]"#);
        assert_eq!(reached(&mut client, "inner").await, 2, "modern {modern}");
    }
}
