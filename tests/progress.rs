//! Progress grows, ends with the answer, and comes under whatever token the client chose.

use serde_json::json;

use crate::support::config::Config;
use crate::support::http_request::HttpRequest;
use crate::support::in_process::{Proxy, StdioProxy};
use crate::support::message::{self, Message};
use crate::support::modern::{meta_with_progress, with_meta};
use crate::support::programs::fake_backend;

const ERAS: [&str; 2] = ["legacy", "modern"];

/// A server whose progress goes back and forth, and on after the answer.
fn call() -> String {
    message::call("progress", r#"{"values":[1,1,0.5,2,2.0,-3,2.5]}"#)
}

fn config(era: &str) -> Config {
    Config::new().server("fake", &fake_backend(["--era", era, "--only", "progress,echo"]))
}

fn check(messages: &[Message], token: &serde_json::Value) {
    let (answer, progress) = messages.split_last().expect("at least the answer");
    answer.result();
    let told: Vec<_> = progress.iter().map(|message| message.value()["params"].clone()).collect();
    let expected = [json!(1), json!(2), json!(2.5)].map(|value| json!({"progressToken": token, "progress": value}));
    assert_eq!(told, expected);
}

/// Everything up to the answer to this id.
async fn until_answered(proxy: &mut StdioProxy, id: &str) -> Vec<Message> {
    let mut messages = Vec::new();
    while messages.last().is_none_or(|last: &Message| last.id().as_deref() != Some(id)) {
        messages.push(proxy.client.next().await);
    }
    messages
}

#[tokio::test]
async fn values_that_do_not_grow_are_dropped_and_none_follows_the_answer() {
    for era in ERAS {
        let mut proxy = Proxy::new(&config(era)).stdio();
        proxy.client.initialize("2025-11-25").await.result();
        for token in [json!(0), json!(""), json!("t"), json!(7)] {
            for meta in [format!(r#"{{"progressToken":{token}}}"#), meta_with_progress(&token.to_string())] {
                let id = proxy.client.begin("tools/call", &with_meta(&call(), &meta)).await;
                check(&until_answered(&mut proxy, &id).await, &token);
                // The server has spoken again by now; its answer to this is the next thing to be heard.
                let id = proxy.client.begin("tools/call", &message::call("echo", "{}")).await;
                assert_eq!(proxy.client.next().await.id(), Some(id));
            }
        }
    }
}

#[tokio::test]
async fn over_http_it_is_on_the_stream_of_its_call() {
    for era in ERAS {
        let proxy = Proxy::new(&config(era)).http().await;
        let mut client = proxy.client();
        client.initialize("2025-11-25").await.result();
        for token in [json!(0), json!("")] {
            let params = with_meta(&call(), &format!(r#"{{"progressToken":{token}}}"#));
            let asked = client.legacy(&message::request("70", "tools/call", &params));
            check(&client.send(&asked).await.messages().await, &token);
            let meta = meta_with_progress(&token.to_string());
            let asked = HttpRequest::modern_with_meta("71", "tools/call", &call(), &meta);
            check(&client.send(&asked).await.messages().await, &token);
        }
    }
}
