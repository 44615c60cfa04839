//! What changes while a question is open.

use serde_json::{Value, json};

use super::{client, reached};
use crate::questions::EVERYTHING;
use crate::support::modern::{VERSION, meta_members, with_meta};

fn back(params: &Value, first: &Value) -> Value {
    let asked = first["result"]["inputRequests"].as_object().unwrap_or_else(|| panic!("no questions in {first}"));
    let answers: serde_json::Map<_, _> = asked.keys().map(|key| (key.clone(), json!({"action": "accept"}))).collect();
    let mut again = params.clone();
    again["inputResponses"] = Value::Object(answers);
    again["requestState"] = first["result"]["requestState"].clone();
    again
}

#[tokio::test]
async fn what_a_server_offers_may_change_while_a_question_is_open() {
    let script = r#"
count = len(tools)
def handler(args):
    elicit("Sure?", when_unavailable = "error")
    return "made of %d tools" % count
show("handler", handler)
show("count", lambda args: "%d" % count)
show("add_tool", tools["add_tool"])
"#;
    let mut client = client(script, true).await;
    let params = json!({"name": "handler", "arguments": {}});
    let before = client.modern_call(&json!({"name": "count", "arguments": {}})).await.text();
    let first = client.modern_call(&params).await.value();
    // As a client that declares nothing, so that it goes to the connection whose lists count.
    client.proxy.client.modern_call("add_tool", r#"{"name":"fresh"}"#).await.result();
    // The new surface is there when it counts one more.
    loop {
        let now = client.modern_call(&json!({"name": "count", "arguments": {}})).await.text();
        if now != before {
            break;
        }
    }
    let done = client.modern_call(&back(&params, &first)).await;
    assert_eq!(done.text(), format!("made of {before} tools"));
}

#[tokio::test]
async fn a_handler_that_takes_another_way_is_ended_and_does_nothing_more() {
    let script = r#"
def handler(args):
    tools["echo"]({"way": "of " + client().name})
    elicit("Sure?", when_unavailable = "error")
    tools["echo"]({"way": "to the end"})
    return "done"
def less(args):
    if client().name == "test-client":
        tools["echo"]({"way": "of more"})
        elicit("Sure?", when_unavailable = "error")
    return "done"
show("handler", handler)
show("less", less)
"#;
    let mut client = client(script, true).await;
    for tool in ["handler", "less"] {
        let params = json!({"name": tool, "arguments": {}});
        let first = client.modern_call(&params).await.value();
        let meta = format!("{{{}}}", meta_members(VERSION, EVERYTHING)).replace("test-client", "another");
        let again = with_meta(&back(&params, &first).to_string(), &meta);
        let ended = client.proxy.client.request("tools/call", &again).await;
        assert_eq!(ended.value()["result"]["isError"], true, "{}", ended.raw);
        let text = ended.text();
        assert!(
            text.contains("`call` comes where `call` was done before") || text.contains("took another way"),
            "{text}"
        );
    }
    assert_eq!(reached(&mut client, "of test-client").await, 1);
    assert_eq!(reached(&mut client, "of another").await, 0);
    assert_eq!(reached(&mut client, "to the end").await, 0);
    assert_eq!(reached(&mut client, "of more").await, 1);
}

#[tokio::test]
async fn what_asks_before_every_request_lets_each_of_them_through_once() {
    let script = r#"
def on_request(request):
    if request.name in ["echo", "handler"]:
        tools["echo"]({"audit": request.name})
        if elicit("May %s?" % request.name, when_unavailable = "reject").action != "accept":
            return error("nobody agreed")
def handler(args):
    return "handled " + elicit("Really?", when_unavailable = "error").action
show("echo", tools["echo"])
show("handler", handler)
"#;
    for modern in [false, true] {
        let mut client = client(script, modern).await;
        let (questions, outcome) = client.converse("echo", json!({"word": "through"}), super::accept()).await;
        assert_eq!(super::messages(&questions), ["May echo?"], "modern {modern}: {outcome}");
        assert_eq!(outcome["result"]["structuredContent"]["word"], "through", "modern {modern}: {outcome}");
        let (questions, outcome) =
            client.converse("echo", json!({"word": "refused"}), json!({"action": "decline"})).await;
        assert_eq!(questions.len(), 1);
        assert_eq!(super::text(&outcome), "nobody agreed", "modern {modern}");
        let (questions, outcome) = client.converse("handler", json!({}), super::accept()).await;
        assert_eq!(super::messages(&questions), ["May handler?", "Really?"], "modern {modern}: {outcome}");
        assert_eq!(super::text(&outcome), "handled accept");
        assert_eq!(reached(&mut client, "audit").await, 3, "modern {modern}");
        assert_eq!(reached(&mut client, "through").await, 1, "modern {modern}");
        assert_eq!(reached(&mut client, "refused").await, 0, "modern {modern}");
    }
}
