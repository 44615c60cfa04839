//! Flow rules under a profile: they are about what that profile shows, also while no call runs.

use serde_json::json;

use super::{client, tools};
use crate::support::config::Config;
use crate::support::http_client::HttpReply;
use crate::support::message::{self, Message};
use crate::support::patience::within;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

/// Only the script of the profile says that something of the server leads outside.
const PROFILE: &str = r#"
for backend in backends().values():
    for meta, call in backend.tools():
        publish(meta.replace(labels = ["outside"]) if meta.name == "sample" else meta, call)
"#;

/// The next question on the stream of a session.
async fn question(stream: &mut HttpReply) -> Message {
    while let Some(message) = stream.next_message().await {
        // A list that has changed may be announced on the same stream.
        if message.id().is_some() {
            return message;
        }
    }
    panic!("the stream of the session has ended")
}

#[tokio::test]
async fn what_a_server_asks_between_calls_is_judged_by_the_script_of_the_clients_profile() {
    // Given a client of a profile whose server has a connection for each client
    let flow = "flow:\n  labels: [{name: echo, server: fake, labels: [secret]}]\n  \
        rules: [{when: [secret], then: outside, do: deny}]";
    let config = Config::new()
        .server_with("fake", &fake_backend(["--era", "legacy"]), json!({"scope": "session"}))
        .section("sessionInit: { preset: passthrough@1 }")
        .section("profiles: { inside: { servers: ['*'], sessionInit: { scriptFile: inside.star } } }")
        .section(flow);
    let proxy = Proxy::new(&config).file("inside.star", PROFILE).http().await;
    let stderr = proxy.program.stderr.clone();
    let mut client = client(&proxy, "inside");
    client.initialize_with("2025-11-25", r#"{"elicitation":{"form":{}}}"#).await.result();
    assert!(tools(&mut client).await.contains(&"ask".to_owned()));
    let mut stream = client.get_stream().await;
    // When the server asks after its answer, then the client is asked
    let later = json!({"later": true, "message": "What is new?"}).to_string();
    client.call("ask", &later).await.result();
    let asked = within("the question", &stderr, question(&mut stream)).await;
    assert_eq!(asked.method().as_deref(), Some("elicitation/create"), "{}", asked.raw);
    let answer = json!({"action": "accept", "content": {"colour": "plain"}}).to_string();
    let response = message::result(&asked.id().expect("an id"), &answer);
    assert_eq!(client.send(&client.legacy(&response)).await.status, 202);
    let seen = client.call("seen", r#"{"wait_for": "plain"}"#);
    within("the answer at the server", &stderr, seen).await.result();
    // But not after a secret was read
    client.call("echo", r#"{"text": "s3cret"}"#).await.result();
    client.call("ask", &later).await.result();
    let told = "this conversation has read `echo` (secret)";
    let refused = json!({ "wait_for": told }).to_string();
    tokio::select! {
        seen = within("the refusal at the server", &stderr, client.call("seen", &refused)) => drop(seen.result()),
        asked = question(&mut stream) => panic!("the client was asked: {}", asked.raw),
    }
}
