//! What a client sets or receives at one proxy counts at the others.

use serde_json::json;

use super::{at, moved, replica, replicas, session, status};
use crate::support::http_client::{HttpClient, HttpReply};
use crate::support::http_request::HttpRequest;
use crate::support::message;
use crate::support::patience::within;
use crate::support::redis::Redis;

/// The levels of the log messages that a call brings.
async fn levels(client: &HttpClient) -> Vec<String> {
    let mut levels = Vec::new();
    for level in ["debug", "error"] {
        let arguments = json!({"method": "notifications/message", "params": {"level": level, "data": "x"}});
        let call = message::request("70", "tools/call", &message::call("notify", &arguments.to_string()));
        let mut reply = client.send(&client.legacy(&call)).await;
        while let Some(said) = reply.next_message().await {
            if said.method().is_some() {
                levels.push(said.value()["params"]["level"].as_str().unwrap_or_default().to_owned());
            }
        }
    }
    levels
}

#[tokio::test]
async fn a_log_level_counts_at_every_proxy() {
    let Some(redis) = Redis::start().await else { return };
    let [one, two] = replicas(&redis.url(), "").await;
    let mut client = session(&one).await;
    let elsewhere = moved(&client, &two);
    assert_eq!(levels(&elsewhere).await, ["debug", "error"]);
    client.request("logging/setLevel", r#"{"level":"error"}"#).await.result();
    assert_eq!(levels(&client).await, ["error"]);
    let changed = async { while levels(&elsewhere).await != ["error"] {} };
    within("the level at the other proxy", &two.program.stderr, changed).await;
    // And at one that hears of the session only now.
    let third = replica(&at(&redis.url()), "").await;
    assert_eq!(levels(&moved(&client, &third)).await, ["error"]);
}

#[tokio::test]
async fn a_link_from_one_proxy_can_be_read_at_another() {
    let Some(redis) = Redis::start().await else { return };
    let [one, two] = replicas(&redis.url(), super::TOKENS).await;
    let uri = "memo://hidden/1";
    let block = json!({"type": "resource_link", "uri": uri, "name": "hidden"});
    let linking = json!({"result": {"content": [block]}}).to_string();
    let reading = json!({ "uri": uri }).to_string();
    for modern in [false, true] {
        let mut client = super::session_of(&one, "secret-token-of-a").await;
        let mut elsewhere = moved(&client, &two);
        let mut bob = super::session_of(&two, "secret-token-of-b").await;
        let read = async |client: &mut HttpClient| match modern {
            true => client.modern("resources/read", &reading).await.value(),
            false => client.request("resources/read", &reading).await.value(),
        };
        assert!(read(&mut elsewhere).await["error"]["code"].is_i64(), "nobody has sent it a link");
        match modern {
            true => client.modern_call("raw", &linking).await.result(),
            false => client.call("raw", &linking).await.result(),
        };
        // The result does not wait for the store.
        let known = async {
            while read(&mut elsewhere).await["result"]["contents"][0]["text"] != "the text of memo://hidden/1" {}
        };
        within("the link at the other proxy", &two.program.stderr, known).await;
        assert!(read(&mut bob).await["error"]["code"].is_i64(), "a link of somebody else");
    }
}

#[tokio::test]
async fn a_client_that_says_much_about_itself_is_served_by_every_proxy_and_after_a_restart() {
    let Some(redis) = Redis::start().await else { return };
    let [mut one, two] = replicas(&redis.url(), "").await;
    let mut client = one.client();
    let name = "x".repeat(12_000);
    client.initialize_as("2025-11-25", &name).await.result();
    assert_eq!(status(&moved(&client, &two)).await, 200);
    one.program.terminate();
    assert!(one.program.exit().await.success());
    let third = replica(&at(&redis.url()), "").await;
    assert_eq!(status(&moved(&client, &third)).await, 200);
    assert!(!redis.ask(&["KEYS", "*"]).await.contains("xxx"));
    assert_eq!(client.moved_to(&two.url, &two.program.stderr).delete().await, 204);
    assert_eq!(status(&moved(&client, &replica(&at(&redis.url()), "").await)).await, 404);
}

#[tokio::test]
async fn the_stream_of_a_call_is_resumed_where_it_is() {
    let Some(redis) = Redis::start().await else { return };
    let [one, two] = replicas(&redis.url(), "").await;
    let client = session(&one).await;
    let home = client.session().and_then(|id| id.split_once('.')).expect("two parts").0.to_owned();
    let resume = HttpRequest::get().header("Last-Event-ID", &format!("{home}-1-0"));
    let elsewhere = moved(&client, &two);
    let alive = elsewhere.send(&elsewhere.in_session(resume.clone())).await;
    assert_eq!((alive.status, alive.header("retry-after")), (503, Some("2")));
    one.program.kill();
    // Nobody has said so: the sign of life ends by itself.
    let gone = async { while elsewhere.send(&elsewhere.in_session(resume.clone())).await.status != 400 {} };
    within("the end of the other process", &two.program.stderr, gone).await;
}

#[tokio::test]
async fn a_client_hears_of_its_resources_wherever_it_listens() {
    let Some(redis) = Redis::start().await else { return };
    let [one, two] = replicas(&redis.url(), "").await;
    let mut client = session(&one).await;
    let mut elsewhere = moved(&client, &two);
    let uri = json!({"uri": "memo://greeting"}).to_string();
    client.request("resources/subscribe", &uri).await.result();
    let mut listening = elsewhere.get_stream().await;
    // The servers behind each proxy are its own: only what changes behind the one where the client listens is told.
    let updated = async |client: &mut HttpClient, listening: &mut HttpReply| {
        let touching = async {
            loop {
                client.call("touch", &uri).await.result();
                if client.call("seen", "{}").await.raw.contains("resources/subscribe") {
                    client.call("touch", &uri).await.result();
                    return;
                }
            }
        };
        within("the subscription at the server", &two.program.stderr, touching).await;
        while let Some(message) = listening.next_message().await {
            if message.method().as_deref() == Some("notifications/resources/updated") {
                return message.value()["params"]["uri"] == "memo://greeting";
            }
        }
        false
    };
    assert!(updated(&mut elsewhere, &mut listening).await);
    // The newest stream counts.
    let mut newest = client.get_stream().await;
    assert!(updated(&mut client, &mut newest).await);
    while listening.next_message().await.is_some() {}
    // The client says at one proxy that it has enough, and the other one follows the resource no longer.
    elsewhere.request("resources/unsubscribe", &uri).await.result();
    client.call("seen", r#"{"wait_for":"resources/unsubscribe"}"#).await.result();
}
