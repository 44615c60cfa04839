//! What a handler tells of its progress, and that it does not tell it twice.

use serde_json::{Value, json};

use super::{accept, client};
use crate::support::message;
use crate::support::modern::{VERSION, meta_members, with_meta};

const SCRIPT: &str = r#"
def handler(args):
    progress(1, 3, "one of three")
    elicit("Sure?", when_unavailable = "accept")
    progress(2, 3)
    progress(2, 3, "does not grow, and is not told")
    sleep(0.01)
    progress(3)
    return "done"
show("handler", handler)
"#;

fn told(messages: &[Value]) -> Vec<Value> {
    let progress = messages.iter().filter(|message| message["method"] == "notifications/progress");
    progress.map(|message| message["params"].clone()).collect()
}

#[tokio::test]
async fn a_session_based_client_that_asked_for_it_is_told_once() {
    let mut client = client(SCRIPT, false).await;
    let client = &mut client.proxy.client;
    let params = json!({"name": "handler", "arguments": {}, "_meta": {"progressToken": "t"}});
    let call = client.begin("tools/call", &params.to_string()).await;
    let mut seen = Vec::new();
    loop {
        let message = client.next().await;
        match message.id() {
            Some(id) if message.is_response() && id == call => break,
            Some(id) if message.method().is_some() => client.send(&message::result(&id, &accept().to_string())).await,
            _ => seen.push(message.value()),
        }
    }
    let expected = [
        json!({"progressToken": "t", "progress": 1.0, "total": 3.0, "message": "one of three"}),
        json!({"progressToken": "t", "progress": 2.0, "total": 3.0}),
        json!({"progressToken": "t", "progress": 3.0}),
    ];
    assert_eq!(told(&seen), expected);
}

#[tokio::test]
async fn a_stateless_client_is_told_in_the_request_that_asked_for_it() {
    for (meta, expected) in [(r#""progressToken":7,"#, 3), ("", 0)] {
        let mut client = client(SCRIPT, true).await;
        // It declares nothing, so it is not asked.
        let meta = format!("{{{meta}{}}}", meta_members(VERSION, "{}"));
        let params = with_meta(&json!({"name": "handler", "arguments": {}}).to_string(), &meta);
        let client = &mut client.proxy.client;
        let call = client.begin("tools/call", &params).await;
        let mut seen = Vec::new();
        loop {
            let message = client.next().await;
            if message.is_response() && message.id().as_deref() == Some(call.as_str()) {
                break;
            }
            seen.push(message.value());
        }
        assert_eq!(told(&seen).len(), expected, "{seen:?}");
    }
}
