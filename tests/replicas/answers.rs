//! What only one process can handle finds it: responses of clients, cancellations, retries of suspended calls, and tasks.

use serde_json::{Value, json};

use super::{FORMS, at, moved, replica, replica_of, replicas, session, session_with};
use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::message;
use crate::support::programs::fake_backend;
use crate::support::proxy::HttpProxy;
use crate::support::redis::Redis;

#[tokio::test]
async fn an_answer_reaches_the_proxy_that_has_asked() {
    let Some(redis) = Redis::start().await else { return };
    let [one, two] = replicas(&redis.url(), "").await;
    let client = session_with(&one, FORMS).await;
    let elsewhere = moved(&client, &two);
    let call = message::request("70", "tools/call", &message::call("ask", r#"{"message":"?"}"#));
    let mut reply = client.send(&client.legacy(&call)).await;
    let question = reply.next_message().await.expect("a question");
    let id = question.id().expect("a question has an id");
    // Another session has no say in it.
    let stranger = session_with(&two, FORMS).await;
    let answer = |action: &str| message::result(&id, &json!({"action": action, "content": {}}).to_string());
    assert_eq!(stranger.send(&stranger.legacy(&answer("accept"))).await.status, 202);
    assert_eq!(elsewhere.send(&elsewhere.legacy(&answer("decline"))).await.status, 202);
    let response = reply.response().await;
    assert!(response.raw.contains("decline"), "{}", response.raw);
}

#[tokio::test]
async fn an_answer_to_a_proxy_that_has_ended_is_taken_and_dropped() {
    let Some(redis) = Redis::start().await else { return };
    let [one, two] = replicas(&redis.url(), "").await;
    let client = session(&one).await;
    let elsewhere = moved(&client, &two);
    let answer = message::result("\"00000000000000ab.1\"", "{}");
    assert_eq!(elsewhere.send(&elsewhere.legacy(&answer)).await.status, 202);
}

#[tokio::test]
async fn a_cancellation_reaches_the_proxy_that_runs_the_call() {
    let Some(redis) = Redis::start().await else { return };
    let [one, two] = replicas(&redis.url(), "").await;
    let mut client = session(&one).await;
    let elsewhere = moved(&client, &two);
    let stall = message::request("71", "tools/call", &message::call("stall", r#"{"mark":"here"}"#));
    let mut stalling = client.send(&client.legacy(&stall)).await;
    client.call("seen", r#"{"wait_for":"\"mark\":\"here\""}"#).await.result();
    let cancel = message::notification("notifications/cancelled", r#"{"requestId":71,"reason":"enough"}"#);
    assert_eq!(elsewhere.send(&elsewhere.legacy(&cancel)).await.status, 202);
    while stalling.next_message().await.is_some() {}
    let seen = client.call("seen", r#"{"wait_for":"notifications/cancelled"}"#).await;
    assert!(seen.raw.contains("enough"), "{}", seen.raw);
}

/// The retry with the answers to what a call asks.
fn accepted(params: &Value, first: &Value) -> Value {
    let asked = first["result"]["inputRequests"].as_object().unwrap_or_else(|| panic!("no elicitation in {first}"));
    let answer = json!({"action": "accept", "content": {"colour": "teal"}});
    let answers: serde_json::Map<_, _> = asked.keys().map(|key| (key.clone(), answer.clone())).collect();
    let mut again = params.clone();
    again["inputResponses"] = Value::Object(answers);
    again["requestState"] = first["result"]["requestState"].clone();
    again
}

async fn modern(client: &mut HttpClient, params: &Value) -> Value {
    client.modern_with("tools/call", &params.to_string(), FORMS).await.value()
}

#[tokio::test]
async fn a_call_that_waits_in_one_proxy_goes_on_when_another_gets_the_answer() {
    let Some(redis) = Redis::start().await else { return };
    let [one, two] = replicas(&redis.url(), super::TOKENS).await;
    let as_ann = |proxy: &HttpProxy| proxy.client().with_header("Authorization", "Bearer secret-token-of-a");
    let ask = json!({"name": "ask", "arguments": {"message": "?"}});
    // The server has sessions, so its call is suspended in the process that runs it.
    let first = modern(&mut as_ann(&one), &ask).await;
    let retry = accepted(&ask, &first);
    let mut bob = two.client().with_header("Authorization", "Bearer secret-token-of-b");
    assert_eq!(modern(&mut bob, &retry).await["error"]["code"], -32602, "the ticket of somebody else");
    let done = modern(&mut as_ann(&two), &retry).await;
    assert_eq!(done["result"]["resultType"], "complete", "{done}");
    assert!(done.to_string().contains("accept"), "{done}");
    for proxy in [&one, &two] {
        let again = modern(&mut as_ann(proxy), &retry).await;
        assert!(again["error"]["message"].as_str().is_some_and(|text| text.contains("already used")), "{again}");
    }
    // A process that leaves waits for the answer.
    let first = modern(&mut as_ann(&one), &ask).await;
    let mut one = one;
    one.program.terminate();
    one.program.stderr.line("draining").await;
    let done = modern(&mut as_ann(&two), &accepted(&ask, &first)).await;
    assert!(done.to_string().contains("accept"), "{done}");
    assert!(one.program.exit().await.success());
    // Where the process is gone, so is its call.
    let mut one = replica(&at(&redis.url()), super::TOKENS).await;
    let first = modern(&mut as_ann(&one), &ask).await;
    one.program.kill();
    one.program.exit().await;
    let lost = modern(&mut as_ann(&two), &accepted(&ask, &first)).await;
    let message = lost["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("call again") && message.contains("may have been carried out"), "{lost}");
}

#[tokio::test]
async fn a_task_is_known_to_every_proxy() {
    let Some(redis) = Redis::start().await else { return };
    for era in ["legacy", "modern"] {
        let server = fake_backend(["--era", era, "--tasks", "--only", "seen"]);
        let config = || Config::new().server("fake", &server).section(super::TOKENS);
        let (one, two) = (replica_of(config(), &at(&redis.url())).await, replica_of(config(), &at(&redis.url())).await);
        let mut client = super::session_of(&one, "secret-token-of-a").await;
        let extension = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
        let mut call = json!({"name": "job", "arguments": {"hold": true}});
        let begun = match era {
            "legacy" => {
                call["task"] = json!({});
                client.request("tools/call", &call.to_string()).await.value()["result"]["task"]["taskId"].clone()
            }
            _ => {
                client.modern_with("tools/call", &call.to_string(), extension).await.value()["result"]["taskId"].clone()
            }
        };
        let about = json!({ "taskId": begun }).to_string();
        let mut elsewhere = moved(&client, &two);
        for (method, status) in [("tasks/get", "working"), ("tasks/cancel", ""), ("tasks/get", "cancelled")] {
            let answer = match era {
                "legacy" => elsewhere.request(method, &about).await.value(),
                _ => elsewhere.modern_with(method, &about, extension).await.value(),
            };
            assert!(answer["error"].is_null(), "{era} {method}: {answer}");
            if !status.is_empty() {
                assert_eq!(answer["result"]["status"], status, "{era} {method}: {answer}");
            }
        }
        let mut bob = super::session_of(&two, "secret-token-of-b").await;
        let refused = match era {
            "legacy" => bob.request("tasks/get", &about).await,
            _ => bob.modern_with("tasks/get", &about, extension).await,
        };
        assert_eq!(refused.error_code(), -32602, "somebody else's");
        let mut one = one;
        one.program.terminate();
        assert!(one.program.exit().await.success());
        let lost = match era {
            "legacy" => elsewhere.request("tasks/get", &about).await,
            _ => elsewhere.modern_with("tasks/get", &about, extension).await,
        };
        assert_eq!(lost.error_code(), -32602, "{}", lost.raw);
    }
}
