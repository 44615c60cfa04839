//! A question that outlives the proxy that asked it: with a Redis and a key that the next one has too.

use serde_json::{Map, Value, json};

use super::{TOKENS, client_of, world};
use crate::questions::EVERYTHING;
use crate::support::proxy::Proxy;
use crate::support::redis::Redis;

const SCRIPT: &str = r#"
def handler(args):
    before = shared_state.incr("before")
    said = elicit("Sure?", when_unavailable = "error").action
    return "%s: before %d, after %d" % (said, before, shared_state.incr("after"))

publish(metadata("handler", "", {}, {}), handler)
publish(metadata("counts", "", {}, {}), lambda args: "%s %s" % (shared_state.get("before"), shared_state.get("after")))
"#;

fn call() -> Value {
    json!({"name": "handler", "arguments": {"n": 1}})
}

/// The same call again, with answers to all that was asked.
fn back(first: &Value) -> String {
    let asked = first["result"]["inputRequests"].as_object().unwrap_or_else(|| panic!("no questions in {first}"));
    let answers: Map<_, _> =
        asked.keys().map(|key| (key.clone(), json!({"action": "accept", "content": {}}))).collect();
    let mut params = call();
    params["inputResponses"] = Value::Object(answers);
    params["requestState"] = first["result"]["requestState"].clone();
    params.to_string()
}

fn replica(redis: &Redis, keys: &str, script: &str) -> Proxy {
    let sections = format!("{TOKENS}\nstore: {{url: '{}'}}\nserve: {{stateKeys: [{keys}]}}", redis.url());
    world(&sections, script)
}

const OLD: &str = "an-older-key-of-more-than-thirty-two-bytes";
const NEW: &str = "a-newer-key-of-more-than-thirty-two-bytes";

#[tokio::test]
async fn a_proxy_that_was_killed_leaves_its_question_to_the_next_one() {
    let Some(redis) = Redis::start().await else { return };
    let one = replica(&redis, OLD, SCRIPT).http().await;
    let first = client_of(&one, "secret-a").modern_with("tools/call", &call().to_string(), EVERYTHING).await.value();
    let good = back(&first);
    one.program.kill();

    let other = replica(&redis, &format!("{NEW}, {OLD}"), SCRIPT).http().await;
    let mut ann = client_of(&other, "secret-a");
    let answer = ann.modern_with("tools/call", &good, EVERYTHING).await;
    assert_eq!(answer.text(), "accept: before 1, after 1");
    let again = ann.modern_with("tools/call", &good, EVERYTHING).await;
    assert!(again.error_message().contains("already answered or has expired"), "{}", again.raw);
    assert_eq!(ann.modern_call("counts", "{}").await.text(), "1 1");
}

#[tokio::test]
async fn a_script_that_was_edited_meanwhile_refuses_the_answer() {
    let Some(redis) = Redis::start().await else { return };
    let one = replica(&redis, OLD, SCRIPT).http().await;
    let first = client_of(&one, "secret-a").modern_with("tools/call", &call().to_string(), EVERYTHING).await.value();
    one.program.kill();
    let other = replica(&redis, OLD, &SCRIPT.replace("Sure?", "Really?")).http().await;
    let mut ann = client_of(&other, "secret-a");
    let refused = ann.modern_with("tools/call", &back(&first), EVERYTHING).await;
    assert!(refused.raw.contains("changed while the question was open"), "{}", refused.raw);
    assert_eq!(ann.modern_call("counts", "{}").await.text(), "1 None");
}

#[tokio::test]
async fn with_another_key_nobody_can_read_the_ticket() {
    let Some(redis) = Redis::start().await else { return };
    let one = replica(&redis, OLD, SCRIPT).http().await;
    let first = client_of(&one, "secret-a").modern_with("tools/call", &call().to_string(), EVERYTHING).await.value();
    let other = replica(&redis, NEW, SCRIPT).http().await;
    let refused = client_of(&other, "secret-a").modern_with("tools/call", &back(&first), EVERYTHING).await;
    assert_eq!(refused.error_code(), -32602, "{}", refused.raw);
}
