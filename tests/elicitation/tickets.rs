//! Coming back to a question with `requestState`: once, in time, to one's own, and with the same request.

use serde_json::{Value, json};

use super::{Client, ERAS, EVERYTHING, one_server};
use crate::support::http_client::HttpClient;
use crate::support::http_request::HttpRequest;
use crate::support::in_process::Proxy;
use crate::support::stderr_log::StderrLog;

fn ask() -> Value {
    json!({"name": "ask", "arguments": {"message": "?", "rounds": 1}})
}

fn back(first: &Value, answers: Value) -> Value {
    let mut params = ask();
    params["inputResponses"] = answers;
    params["requestState"] = first["result"]["requestState"].clone();
    params
}

fn answers(first: &Value) -> Value {
    let asked = first["result"]["inputRequests"].as_object().expect("questions");
    asked
        .keys()
        .map(|key| (key.clone(), json!({"action": "accept", "content": {"colour": "blue"}})))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[tokio::test]
async fn a_ticket_is_good_for_one_return_with_the_same_request() {
    for era in ERAS {
        let mut client = Client::of(&one_server(era, json!({})), true, EVERYTHING).await;
        let first = client.modern_call(&ask()).await.value();
        let good = back(&first, answers(&first));

        let mut tampered = good.clone();
        let state = good["requestState"].as_str().expect("a ticket").to_owned();
        // In the middle, where every bit of a letter counts.
        let (head, tail) = state.split_at(state.len() / 2);
        let other = if tail.starts_with('A') { 'B' } else { 'A' };
        tampered["requestState"] = format!("{head}{other}{}", &tail[1..]).into();
        let mut other_arguments = good.clone();
        other_arguments["arguments"]["message"] = "!".into();
        let mut other_tool = good.clone();
        other_tool["name"] = "sample".into();
        let mut no_answers = good.clone();
        no_answers["inputResponses"] = 5.into();
        for bad in [tampered, other_arguments, other_tool, no_answers] {
            let refused = client.modern_call(&bad).await;
            assert_eq!(refused.error_code(), -32602, "{era}: {bad}");
        }

        // Arguments that mean the same are the same, however they are written.
        let mut respelled = good.clone();
        respelled["arguments"] = serde_json::from_str(r#"{"rounds":1.0,"message":"?"}"#).expect("it is JSON");
        let done = client.modern_call(&respelled).await.value();
        assert!(done["result"]["structuredContent"].to_string().contains("blue"), "{era}: {done}");

        let again = client.modern_call(&good).await;
        assert_eq!(again.error_code(), -32602);
        assert!(again.error_message().contains("already used"), "{}", again.raw);
    }
}

#[tokio::test]
async fn another_person_cannot_use_a_ticket() {
    let tokens = "auth: {tokens: [{token: secret-token-of-a, sub: ann}, {token: secret-token-of-b, sub: bob}]}";
    let config = one_server("legacy", json!({})).section(tokens);
    let proxy = Proxy::new(&config).http().await;
    let person = |token: &str| {
        HttpClient::new(&proxy.url, StderrLog::none()).with_header("Authorization", &format!("Bearer {token}"))
    };
    let (mut ann, mut bob) = (person("secret-token-of-a"), person("secret-token-of-b"));
    let first = ann.modern_with("tools/call", &ask().to_string(), EVERYTHING).await.value();
    let good = back(&first, answers(&first)).to_string();
    assert_eq!(bob.modern_with("tools/call", &good, EVERYTHING).await.error_code(), -32602);
    assert!(ann.modern_with("tools/call", &good, EVERYTHING).await.raw.contains("blue"));
}

#[tokio::test]
async fn an_expired_ticket_ends_the_call_and_the_server_hears_of_it() {
    let mut client = Client::of(&one_server("legacy", json!({"inputTimeout": "1s"})), true, EVERYTHING).await;
    let first = client.modern_call(&ask()).await.value();
    let seen = client
        .modern_call(&json!({"name": "seen", "arguments": {"wait_for": "the client did not answer in time"}}))
        .await;
    assert!(seen.raw.contains("the client did not answer in time"), "{}", seen.raw);
    let late = client.modern_call(&back(&first, answers(&first))).await;
    assert_eq!(late.error_code(), -32602, "{}", late.raw);
}

#[tokio::test]
async fn a_question_left_out_is_asked_again_and_put_away_in_the_end() {
    let mut client = Client::of(&one_server("legacy", json!({})), true, EVERYTHING).await;
    let mut round = client.modern_call(&ask()).await.value();
    for _ in 0..2 {
        round = client.modern_call(&back(&round, json!({"wrong": {}}))).await.value();
        assert_eq!(round["result"]["resultType"], "input_required", "{round}");
    }
    let done = client.modern_call(&back(&round, json!({}))).await.value();
    assert_eq!(done["result"]["resultType"], "complete", "{done}");
}

#[tokio::test]
async fn a_stateless_server_that_gave_no_state_gets_none_back() {
    let config = one_server("modern", json!({}));
    let mut client = Client::of(&config, true, EVERYTHING).await;
    let result = r#"{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}"#;
    let params = json!({"name": "raw", "arguments": {"result": serde_json::from_str::<Value>(result).expect("JSON")}});
    let first = client.modern_call(&params).await.value();
    assert_eq!(first["result"]["inputRequests"]["a"]["method"], "roots/list");
    assert!(first["result"].get("requestState").is_none(), "{first}");
    let mut retry = json!({"name": "params", "arguments": {}});
    retry["inputResponses"] = json!({"a": {"roots": []}});
    let seen = client.modern_call(&retry).await;
    assert!(seen.raw.contains("inputResponses") && !seen.raw.contains("requestState"), "{}", seen.raw);
}

#[tokio::test]
async fn two_returns_at_once_answer_the_server_once() {
    let proxy = Proxy::new(&one_server("legacy", json!({}))).http().await;
    let mut client = proxy.client();
    let first = client.modern_with("tools/call", &ask().to_string(), EVERYTHING).await.value();
    let good = back(&first, answers(&first)).to_string();
    let (one, two) = (
        HttpRequest::modern_with("8", "tools/call", &good, EVERYTHING),
        HttpRequest::modern_with("9", "tools/call", &good, EVERYTHING),
    );
    let (one, two) = tokio::join!(client.send(&one), client.send(&two));
    let outcomes = [one.response().await.value(), two.response().await.value()];
    let done = outcomes.iter().filter(|outcome| outcome["result"].to_string().contains("blue")).count();
    let refused = outcomes.iter().filter(|outcome| outcome["error"]["code"] == -32602).count();
    assert_eq!((done, refused), (1, 1), "{outcomes:?}");
}
