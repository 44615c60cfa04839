//! Coming back to a script's question with `requestState`: once, in time, to one's own, and with the same request.

use serde_json::{Value, json};

use super::{client, reached, world};
use crate::elicitation::{Client, EVERYTHING, accepted};
use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::http_request::HttpRequest;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;
use crate::support::stderr_log::StderrLog;

const SCRIPT: &str = r#"
def handler(args):
    tools["echo"]({"before": "the question"})
    said = elicit("Sure?", when_unavailable = "error").action
    tools["echo"]({"after": "the question"})
    return "done: " + said
show("handler", handler)
show("other", handler)
"#;

fn call() -> Value {
    json!({"name": "handler", "arguments": {"n": 1}})
}

fn back(first: &Value) -> Value {
    accepted(&call(), first)
}

#[tokio::test]
async fn a_ticket_is_good_for_one_return_with_the_same_request() {
    let mut client = client(SCRIPT, true).await;
    let first = client.modern_call(&call()).await.value();
    let good = back(&first);
    let mut tampered = good.clone();
    let state = good["requestState"].as_str().expect("a ticket").to_owned();
    let (head, tail) = state.split_at(state.len() / 2);
    let other = if tail.starts_with('A') { 'B' } else { 'A' };
    tampered["requestState"] = format!("{head}{other}{}", &tail[1..]).into();
    let mut made_up = good.clone();
    made_up["requestState"] = "made up".into();
    let mut other_arguments = good.clone();
    other_arguments["arguments"]["n"] = 2.into();
    let mut other_tool = good.clone();
    other_tool["name"] = "other".into();
    let mut no_answers = good.clone();
    no_answers["inputResponses"] = 5.into();
    for bad in [tampered, made_up, other_arguments, other_tool, no_answers] {
        assert_eq!(client.modern_call(&bad).await.error_code(), -32602, "{bad}");
    }
    assert_eq!(client.modern_call(&good).await.text(), "done: accept");

    let again = client.modern_call(&good).await;
    assert_eq!(again.error_code(), -32602);
    let message = again.error_message();
    assert!(message.contains("already answered or has expired; the call may have been carried out"), "{message}");
    assert_eq!(reached(&mut client, "before").await, 1);
    assert_eq!(reached(&mut client, "after").await, 1);
}

#[tokio::test]
async fn another_person_cannot_use_a_ticket() {
    let config = Config::new()
        .server("fake", &fake_backend(["--era", "legacy"]))
        .section("sessionInit: { scriptFile: policy.star }")
        .section("auth: {tokens: [{token: secret-token-of-a, sub: ann}, {token: secret-token-of-b, sub: bob}]}");
    let script = format!("{}{SCRIPT}", super::BEGINNING);
    let proxy = Proxy::new(&config).file("policy.star", &script).http().await;
    let person = |token: &str| {
        HttpClient::new(&proxy.url, StderrLog::none()).with_header("Authorization", &format!("Bearer {token}"))
    };
    let (mut ann, mut bob) = (person("secret-token-of-a"), person("secret-token-of-b"));
    let first = ann.modern_with("tools/call", &call().to_string(), EVERYTHING).await.value();
    let good = back(&first).to_string();
    assert_eq!(bob.modern_with("tools/call", &good, EVERYTHING).await.error_code(), -32602);
    assert_eq!(ann.modern_with("tools/call", &good, EVERYTHING).await.text(), "done: accept");
}

#[tokio::test]
async fn of_two_returns_at_once_one_is_carried_out() {
    let proxy = world("legacy", SCRIPT).http().await;
    let mut client = proxy.client();
    let first = client.modern_with("tools/call", &call().to_string(), EVERYTHING).await.value();
    let good = back(&first).to_string();
    let (one, two) = (
        HttpRequest::modern_with("8", "tools/call", &good, EVERYTHING),
        HttpRequest::modern_with("9", "tools/call", &good, EVERYTHING),
    );
    let (one, two) = tokio::join!(client.send(&one), client.send(&two));
    let outcomes = [one.response().await.value(), two.response().await.value()];
    let done = outcomes.iter().filter(|outcome| outcome["result"].to_string().contains("done: accept")).count();
    let refused = outcomes.iter().filter(|outcome| outcome["error"]["code"] == -32602).count();
    assert_eq!((done, refused), (1, 1), "{outcomes:?}");
}

#[tokio::test]
async fn an_answer_left_out_is_asked_for_again_under_another_ticket() {
    let mut client = Client::at(world("legacy", SCRIPT), true, EVERYTHING).await;
    let first = client.modern_call(&call()).await.value();
    let mut silent = back(&first);
    silent["inputResponses"] = json!({"another": {}});
    let second = client.modern_call(&silent).await.value();
    assert_eq!(second["result"]["resultType"], "input_required", "{second}");
    assert_ne!(second["result"]["requestState"], first["result"]["requestState"]);
    assert_eq!(second["result"]["inputRequests"], first["result"]["inputRequests"]);
    assert_eq!(client.modern_call(&back(&second)).await.text(), "done: accept");
    assert_eq!(reached(&mut client, "before").await, 1);
}
