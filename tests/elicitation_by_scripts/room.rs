//! The room that calls take while they wait for answers, in the memory of the proxy. That of stateless calls is the
//! store's, whose bound is tested there.

use serde_json::{Value, json};

use super::{accept, client, text};
use crate::support::message;

/// Has done 7 MB of things when it asks: nine of these fit into 64 MiB.
const SCRIPT: &str = r#"
def handler(args):
    for _ in range(7):
        shared_state.get("large")
    return elicit("Sure?", when_unavailable = "error").action
show("prepare", lambda args: shared_state.set("large", "x" * 1000000))
show("handler", handler)
"#;
const FITS: usize = 9;

fn call() -> Value {
    json!({"name": "handler", "arguments": {}})
}

#[tokio::test]
async fn a_call_that_does_not_fit_is_refused_until_others_are_answered() {
    let client = &mut client(SCRIPT, false).await.proxy.client;
    client.call("prepare", "{}").await.result();
    let mut calls = Vec::new();
    for _ in 0..FITS {
        calls.push(client.begin("tools/call", &call().to_string()).await);
    }
    let mut questions = Vec::new();
    for _ in 0..FITS {
        questions.push(client.expect_notification("elicitation/create").await.id().expect("a request has an id"));
    }
    let refused = client.call("handler", "{}").await;
    assert_eq!(refused.value()["result"]["isError"], true, "{}", refused.raw);
    assert_eq!(refused.text(), "too many calls are waiting for answers: the limit is 64 MiB in total; try again later");
    for question in &questions {
        client.send(&message::result(question, &accept().to_string())).await;
    }
    for call in calls {
        assert_eq!(text(&client.response(&call).await.value()), "accept", "those that wait are not touched");
    }
    let again = client.begin("tools/call", &call().to_string()).await;
    let question = client.expect_notification("elicitation/create").await.id().expect("a request has an id");
    client.send(&message::result(&question, &accept().to_string())).await;
    assert_eq!(client.response(&again).await.text(), "accept");
}
