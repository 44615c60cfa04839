//! Many calls that wait for people at once.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{client, text};
use crate::support::message;

const SCRIPT: &str = r#"
def handler(args):
    form = {"type": "object", "properties": {"word": {"type": "string"}}}
    tools["echo"]({"n": args["n"]})
    return "%d %s" % (args["n"], elicit("Number %d?" % args["n"], form, when_unavailable = "error").content["word"])
show("handler", handler)
show("quick", lambda args: "quick")
"#;
const MANY: usize = 1000;

#[tokio::test]
#[ignore = "seconds of load"]
async fn a_thousand_waiting_calls_of_a_session_keep_nobody_from_anything() {
    let mut client = client(SCRIPT, false).await;
    let mut calls = HashMap::new();
    for number in 0..MANY {
        let params = json!({"name": "handler", "arguments": {"n": number}}).to_string();
        let id = client.proxy.client.begin("tools/call", &params).await;
        calls.insert(id, number);
    }
    let mut questions = Vec::new();
    while questions.len() < MANY {
        questions.push(client.proxy.client.expect_notification("elicitation/create").await);
    }
    assert_eq!(client.proxy.client.call("quick", "{}").await.text(), "quick");
    for question in questions {
        let asked = question.value()["params"]["message"].as_str().expect("a message").to_owned();
        let answer = json!({"action": "accept", "content": {"word": asked}});
        let id = question.id().expect("a request has an id");
        client.proxy.client.send(&message::result(&id, &answer.to_string())).await;
    }
    for (id, number) in calls {
        let outcome = client.proxy.client.response(&id).await.value();
        assert_eq!(text(&outcome), format!("{number} Number {number}?"));
    }
}

#[tokio::test]
#[ignore = "seconds of load"]
async fn a_thousand_tickets_may_be_open() {
    let mut client = client(SCRIPT, true).await;
    let mut open: Vec<(Value, Value)> = Vec::new();
    for number in 0..MANY {
        let params = json!({"name": "handler", "arguments": {"n": number}});
        let first = client.modern_call(&params).await.value();
        open.push((params, first));
    }
    for (mut params, first) in open.into_iter().rev() {
        let asked = first["result"]["inputRequests"].as_object().unwrap_or_else(|| panic!("no questions in {first}"));
        let (key, question) = asked.iter().next().expect("a question");
        let word = question["params"]["message"].clone();
        params["inputResponses"] = json!({key: {"action": "accept", "content": {"word": word}}});
        params["requestState"] = first["result"]["requestState"].clone();
        let number = params["arguments"]["n"].clone();
        assert_eq!(client.modern_call(&params).await.text(), format!("{number} Number {number}?"));
    }
}
