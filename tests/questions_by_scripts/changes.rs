//! What changes while a question is open.

use serde_json::{Value, json};

use super::client;

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
