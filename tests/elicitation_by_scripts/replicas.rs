//! Several proxies behind one address: a question that one of them asked is answered at another.

use serde_json::{Value, json};

use super::{BEGINNING, reached};
use crate::elicitation::{Client, EVERYTHING, accepted};
use crate::support::config::Config;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;
use crate::support::redis::Redis;

const SCRIPT: &str = r#"
def handler(args):
    tools["echo"]({"before": "the question"})
    said = elicit("Sure?", when_unavailable = "error").action
    return "done: " + said
show("handler", handler)
"#;

/// One of several that share a Redis and their keys.
async fn replica(redis: &Redis, key: &str, script: &str) -> Client {
    let config = Config::new()
        .server("fake", &fake_backend(["--era", "legacy"]))
        .section("sessionInit: { scriptFile: policy.star }")
        .section(&format!("store: {{ url: '{}' }}", redis.url()))
        .section(&format!("serve: {{ stateKeys: [{key}] }}"));
    let proxy = Proxy::new(&config).file("policy.star", &format!("{BEGINNING}{script}"));
    Client::at(proxy, true, EVERYTHING).await
}

fn call() -> Value {
    json!({"name": "handler", "arguments": {}})
}

fn back(first: &Value) -> Value {
    accepted(&call(), first)
}

#[tokio::test]
async fn a_question_of_one_is_answered_at_another_once() {
    let Some(redis) = Redis::start().await else { return };
    let key = "k".repeat(32);
    let (mut one, mut two) = (replica(&redis, &key, SCRIPT).await, replica(&redis, &key, SCRIPT).await);
    let first = one.modern_call(&call()).await.value();
    assert_eq!(two.modern_call(&back(&first)).await.text(), "done: accept");
    for client in [&mut one, &mut two] {
        let again = client.modern_call(&back(&first)).await;
        assert!(again.error_message().contains("already answered or has expired"), "{}", again.raw);
    }
    assert_eq!(reached(&mut one, "before").await + reached(&mut two, "before").await, 1);
}

#[tokio::test]
async fn an_answer_to_another_script_or_without_the_keys_is_refused() {
    let Some(redis) = Redis::start().await else { return };
    let key = "k".repeat(32);
    let mut one = replica(&redis, &key, SCRIPT).await;
    let first = one.modern_call(&call()).await.value();
    let mut edited = replica(&redis, &key, &SCRIPT.replace("done: ", "edited: ")).await;
    let refused = edited.modern_call(&back(&first)).await;
    assert_eq!(refused.text(), "the session script changed while the call waited for your answer; call again");
    assert_eq!(refused.value()["result"]["isError"], true);
    let mut stranger = replica(&redis, &"x".repeat(32), SCRIPT).await;
    assert_eq!(stranger.modern_call(&back(&first)).await.error_code(), -32602);
    // Nothing of that has used it up.
    assert_eq!(one.modern_call(&back(&first)).await.text(), "done: accept");
}

#[tokio::test]
async fn a_store_that_is_down_is_told_and_nothing_is_done_twice() {
    let Some(mut redis) = Redis::start().await else { return };
    let mut client = replica(&redis, &"k".repeat(32), SCRIPT).await;
    let first = client.modern_call(&call()).await.value();
    redis.kill();
    let refused = client.modern_call(&back(&first)).await;
    assert!(refused.error_message().contains("is unavailable"), "{}", refused.raw);
    let ended = client.modern_call(&call()).await;
    assert_eq!(ended.value()["result"]["isError"], true, "{}", ended.raw);
    assert!(ended.text().contains("cannot suspend the call to ask the client"), "{}", ended.raw);
}
