//! `state` and `shared_state`: whose they are, how long they last, what fits in.

use serde_json::json;

use super::{TOKENS, client_of, session_of, world};
use crate::support::redis::Redis;

/// Counts what is the caller's and what is everybody's.
const COUNTING: &str = r#"
def count(args):
    return "own %d, shared %d" % (state.incr("n"), shared_state.incr("n"))

publish(metadata("count", "Counts.", {}, {}), count)
"#;

#[tokio::test]
async fn a_person_is_the_same_in_every_session_and_era_and_nobody_else() {
    let proxy = world(TOKENS, COUNTING).http().await;
    let mut ann = session_of(&proxy, "secret-token-of-a").await;
    assert_eq!(ann.call("count", "{}").await.text(), "own 1, shared 1");
    let mut again = session_of(&proxy, "secret-token-of-a").await;
    assert_eq!(again.call("count", "{}").await.text(), "own 2, shared 2");
    let mut bob = session_of(&proxy, "secret-token-of-b").await;
    assert_eq!(bob.call("count", "{}").await.text(), "own 1, shared 3");
    let mut stateless = client_of(&proxy, "secret-token-of-a");
    assert_eq!(stateless.modern_call("count", "{}").await.text(), "own 3, shared 4");
    assert_eq!(client_of(&proxy, "secret-token-of-b").modern_call("count", "{}").await.text(), "own 2, shared 5");
}

#[tokio::test]
async fn without_authentication_each_session_and_each_stateless_request_is_alone() {
    let proxy = world("", COUNTING).http().await;
    let mut first = proxy.client();
    first.initialize("2025-11-25").await.result();
    let mut second = proxy.client();
    second.initialize("2025-06-18").await.result();
    assert_eq!(first.call("count", "{}").await.text(), "own 1, shared 1");
    assert_eq!(second.call("count", "{}").await.text(), "own 1, shared 2");
    assert_eq!(first.call("count", "{}").await.text(), "own 2, shared 3");
    let mut stateless = proxy.client();
    assert_eq!(stateless.modern_call("count", "{}").await.text(), "own 1, shared 4");
    assert_eq!(stateless.modern_call("count", "{}").await.text(), "own 1, shared 5");
}

#[tokio::test]
async fn on_a_pipe_the_process_is_the_owner() {
    let mut proxy = world("", COUNTING).stdio();
    assert_eq!(proxy.client.modern_call("count", "{}").await.text(), "own 1, shared 1");
    proxy.client.initialize("2025-11-25").await.result();
    assert_eq!(proxy.client.call("count", "{}").await.text(), "own 2, shared 2");
}

/// Runs whatever the arguments say on `state`.
const ANYTHING: &str = r#"
def act(args):
    if args["do"] == "get":
        return {"value": state.get(args["key"], "none")}
    if args["do"] == "set":
        return {"value": state.set(args["key"], args["value"], ttl = args.get("ttl"))}
    if args["do"] == "incr":
        return {"value": state.incr(args["key"], args["by"])}
    return {"value": state.delete(args["key"])}

publish(metadata("act", "Acts.", {}, {}), act)
"#;

#[tokio::test]
async fn values_come_back_as_they_were() {
    let mut proxy = world("", ANYTHING).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    let values = [
        json!(null),
        json!("text with \u{1F980} and \"quotes\""),
        json!(1.5),
        json!({"deep": [{"er": [[]]}], "n": -3}),
        serde_json::from_str("123456789012345678901234567890").expect("it is a number"),
    ];
    assert_eq!(proxy.client.call("act", r#"{"do":"get","key":"k"}"#).await.structured(), r#"{"value":"none"}"#);
    for value in values {
        proxy.client.call("act", &json!({"do": "set", "key": "k", "value": value}).to_string()).await.result();
        let found = proxy.client.call("act", r#"{"do":"get","key":"k"}"#).await;
        assert_eq!(found.structured(), json!({"value": value}).to_string());
    }
    assert_eq!(proxy.client.call("act", r#"{"do":"delete","key":"k"}"#).await.structured(), r#"{"value":true}"#);
    assert_eq!(proxy.client.call("act", r#"{"do":"delete","key":"k"}"#).await.structured(), r#"{"value":false}"#);
    assert_eq!(
        proxy.client.call("act", r#"{"do":"incr","key":"big","by":9007199254740993}"#).await.structured(),
        r#"{"value":9007199254740993}"#
    );
}

#[tokio::test]
async fn a_value_that_has_a_time_to_live_ends() {
    let mut proxy = world("", ANYTHING).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy.client.call("act", r#"{"do":"set","key":"k","value":1,"ttl":0.05}"#).await.result();
    // The clock is the proxy's; asking again and again ends with the test's patience.
    while proxy.client.call("act", r#"{"do":"get","key":"k"}"#).await.structured() != r#"{"value":"none"}"# {}
}

#[tokio::test]
async fn what_does_not_fit_is_an_error_that_says_why() {
    let mut proxy = world("", ANYTHING).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    let long = "k".repeat(257);
    for (arguments, error) in [
        (json!({"do": "set", "key": long, "value": 1}), "the key is too long: 257 characters (maximum 256)"),
        (json!({"do": "get", "key": ""}), "the key is empty"),
        (
            json!({"do": "set", "key": "k", "value": "x".repeat(1 << 20)}),
            "the value of `k` is too large: 1048578 bytes",
        ),
        (json!({"do": "set", "key": "k", "value": 1, "ttl": 0}), "`ttl` must be a number of seconds above 0"),
    ] {
        let text = proxy.client.call("act", &arguments.to_string()).await.text();
        assert!(text.contains(error) && text.contains("policy.star:"), "{text}");
    }
    proxy.client.call("act", r#"{"do":"set","key":"k","value":"text"}"#).await.result();
    let text = proxy.client.call("act", r#"{"do":"incr","key":"k","by":1}"#).await.text();
    assert!(text.contains("cannot increment `k`: its value is not"), "{text}");
}

#[tokio::test]
async fn what_was_kept_for_a_session_or_a_request_goes_with_it() {
    let script = r#"
def fill(args):
    for number in range(15):
        state.set("k%d" % number, "x" * 1000000)
    return "filled"

publish(metadata("fill", "", {}, {}), fill)
"#;
    let proxy = world("", script).http().await;
    // One after the other they keep more than there is room for at once: 256 MiB.
    for _ in 0..10 {
        let mut client = proxy.client();
        client.initialize("2025-11-25").await.result();
        assert_eq!(client.call("fill", "{}").await.text(), "filled");
        assert_eq!(client.delete().await, 204);
        assert_eq!(proxy.client().modern_call("fill", "{}").await.text(), "filled");
    }
}

#[tokio::test]
async fn a_redis_keeps_nothing_of_those_who_left_but_what_is_a_person_s_stays() {
    let Some(redis) = Redis::start().await else { return };
    let store = format!("store: {{url: '{}'}}", redis.url());
    let mut pipe = world(&store, COUNTING).stdio();
    pipe.client.initialize("2025-11-25").await.result();
    assert_eq!(pipe.client.call("count", "{}").await.text(), "own 1, shared 1");
    let mut proxy = world(&store, COUNTING).http().await;
    let mut anonymous = proxy.client();
    anonymous.initialize("2025-11-25").await.result();
    assert_eq!(anonymous.call("count", "{}").await.text(), "own 1, shared 2");
    assert_eq!(proxy.client().modern_call("count", "{}").await.text(), "own 1, shared 3");
    let known = world(&format!("{store}\n{TOKENS}"), COUNTING).http().await;
    let mut ann = session_of(&known, "secret-token-of-a").await;
    assert_eq!(ann.call("count", "{}").await.text(), "own 1, shared 4");
    let mut stays = proxy.client();
    stays.initialize("2025-11-25").await.result();
    assert_eq!(stays.call("count", "{}").await.text(), "own 1, shared 5");

    pipe.client.finish().await;
    assert_eq!((anonymous.delete().await, ann.delete().await), (204, 204));
    // It is done behind the answer.
    while redis.ask(&["KEYS", "*:request:*"]).await.contains("request:") {}
    while redis.ask(&["KEYS", "*:values:session:*"]).await.matches("session:").count() > 1 {}
    assert_eq!(stays.call("count", "{}").await.text(), "own 2, shared 6");
    proxy.program.terminate();
    proxy.program.exit().await;
    let of_the_pipe = redis.ask(&["KEYS", "*:process:*"]).await;
    assert!(!of_the_pipe.contains("process:"), "whoever was on the pipe: {of_the_pipe}");
    let left = redis.ask(&["KEYS", "*:session:*"]).await;
    assert!(!left.contains("session:"), "who was still there when the proxy ended: {left}");
    assert_eq!(client_of(&known, "secret-token-of-a").modern_call("count", "{}").await.text(), "own 2, shared 7");
}
