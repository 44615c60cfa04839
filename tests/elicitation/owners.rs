//! Whom a server's question belongs to when several clients use it at once.

use serde_json::json;

use super::{EVERYTHING, one_server};
use crate::support::config::Config;
use crate::support::http_client::{HttpClient, HttpReply};
use crate::support::http_request::HttpRequest;
use crate::support::in_process::{HttpProxy, Proxy};
use crate::support::message;
use crate::support::program::Program;
use crate::support::programs::fake_backend;

async fn session(proxy: &HttpProxy, capabilities: &str) -> HttpClient {
    let mut client = proxy.client();
    client.initialize_with("2025-11-25", capabilities).await.result();
    client
}

async fn begin(client: &HttpClient, tool: &str, arguments: &str) -> HttpReply {
    client.send(&client.legacy(&message::request("7", "tools/call", &message::call(tool, arguments)))).await
}

/// Answers the question on this stream and returns what came of the call.
async fn answer(client: &HttpClient, stream: &mut HttpReply, colour: &str) -> String {
    loop {
        let message = stream.next_message().await.expect("the stream goes on to the result");
        if message.method().as_deref() == Some("elicitation/create") {
            let id = message.id().expect("a question has an id");
            let answer = message::result(&id, &json!({"action": "accept", "content": {"colour": colour}}).to_string());
            assert_eq!(client.send(&client.legacy(&answer)).await.status, 202);
        } else if message.is_response() {
            return message.raw;
        }
    }
}

#[tokio::test]
async fn with_two_clients_in_flight_on_one_pipe_neither_is_asked() {
    let proxy = Proxy::new(&one_server("legacy", json!({}))).http().await;
    let (ann, bob) = (session(&proxy, EVERYTHING).await, session(&proxy, EVERYTHING).await);
    let mut waiting = begin(&bob, "stall", "{}").await;
    // Both are there when the question comes.
    let mut stream = begin(&ann, "ask", "{}").await;
    let outcome = loop {
        let message = stream.next_message().await.expect("a result");
        assert_ne!(message.method().as_deref(), Some("elicitation/create"), "ann is asked");
        if message.is_response() {
            break message.raw;
        }
    };
    assert!(outcome.contains("scope: session"), "{outcome}");
    bob.delete().await;
    while let Some(message) = waiting.next_message().await {
        assert_ne!(message.method().as_deref(), Some("elicitation/create"), "bob is asked");
    }
}

#[tokio::test]
async fn what_a_server_asks_for_a_cancelled_call_is_asked_of_nobody_else() {
    let proxy = Proxy::new(&one_server("legacy", json!({}))).http().await;
    let (ann, mut bob) = (session(&proxy, EVERYTHING).await, session(&proxy, EVERYTHING).await);
    // The server does not care that it is cancelled, and asks when bob is the only one with a call.
    let mut anns = begin(&ann, "ask", r#"{"after":"bobs call"}"#).await;
    bob.call("seen", r#"{"wait_for":"after"}"#).await.result();
    let cancel = message::notification("notifications/cancelled", r#"{"requestId":7}"#);
    assert_eq!(ann.send(&ann.legacy(&cancel)).await.status, 202);
    assert_eq!(anns.next_message().await, None);
    let mut bobs = begin(&bob, "seen", r#"{"wait_for":"ask-","mark":"bobs call"}"#).await;
    let outcome = loop {
        let message = bobs.next_message().await.expect("a result");
        assert_ne!(message.method().as_deref(), Some("elicitation/create"), "bob is asked what ann was to be asked");
        if message.is_response() {
            break message.raw;
        }
    };
    assert!(outcome.contains("scope: session"), "{outcome}");
}

#[tokio::test]
async fn with_a_connection_each_both_are_asked_their_own() {
    let proxy = Proxy::new(&one_server("legacy", json!({"scope": "session"}))).http().await;
    let (ann, bob) = (session(&proxy, EVERYTHING).await, session(&proxy, EVERYTHING).await);
    let (mut anns, mut bobs) = tokio::join!(begin(&ann, "ask", "{}"), begin(&bob, "ask", "{}"));
    let (hers, his) = tokio::join!(answer(&ann, &mut anns, "amber"), answer(&bob, &mut bobs, "blue"));
    assert!(hers.contains("amber") && !hers.contains("blue"), "{hers}");
    assert!(his.contains("blue") && !his.contains("amber"), "{his}");
    // The processes are apart, and end with their sessions.
    let pid = |reply: String| {
        serde_json::from_str::<serde_json::Value>(&reply).expect("JSON")["result"]["structuredContent"].to_string()
    };
    let (mut first, mut second) = (begin(&ann, "pid", "{}").await, begin(&bob, "pid", "{}").await);
    assert_ne!(pid(answer(&ann, &mut first, "").await), pid(answer(&bob, &mut second, "").await));
}

#[tokio::test]
async fn an_unknown_stateless_client_has_no_connection_of_its_own() {
    let proxy = Proxy::new(&one_server("legacy", json!({"scope": "session"}))).http().await;
    let told = proxy.client().modern_call("echo", "{}").await;
    assert!(told.raw.contains("open a session or authenticate"), "{}", told.raw);
}

#[tokio::test]
async fn two_unknown_stateless_clients_are_not_one_person() {
    let proxy = Proxy::new(&one_server("legacy", json!({}))).http().await;
    let client = proxy.client();
    let stall = HttpRequest::modern_with("1", "tools/call", &message::call("stall", "{}"), EVERYTHING);
    let held = client.send_and_leave_open(&stall).await;
    let mut other = proxy.client();
    let seen = message::call("seen", r#"{"wait_for":"stall"}"#);
    other.modern_with("tools/call", &seen, EVERYTHING).await.result();
    let told = other.modern_with("tools/call", &message::call("ask", "{}"), EVERYTHING).await;
    assert!(told.raw.contains("scope: session"), "{}", told.raw);
    drop(held);
}

#[tokio::test]
async fn a_question_on_the_servers_own_stream_goes_to_the_only_client_in_flight() {
    let (_server, url) = Program::start_server(fake_backend(["--http", "127.0.0.1:0", "--era", "legacy"])).await;
    let proxy = Proxy::new(&Config::new().remote("fake", &url)).http().await;
    let ann = session(&proxy, EVERYTHING).await;
    let mut stream = begin(&ann, "ask", r#"{"via":"get"}"#).await;
    assert!(answer(&ann, &mut stream, "green").await.contains("green"));

    let bob = session(&proxy, EVERYTHING).await;
    let _held = begin(&bob, "stall", "{}").await;
    let mut stream = begin(&ann, "ask", r#"{"via":"get"}"#).await;
    assert!(answer(&ann, &mut stream, "never").await.contains("scope: session"));
}

#[tokio::test]
async fn on_a_call_s_own_stream_everybody_is_asked_their_own() {
    let (_server, url) = Program::start_server(fake_backend(["--http", "127.0.0.1:0", "--era", "legacy"])).await;
    let proxy = Proxy::new(&Config::new().remote("fake", &url)).http().await;
    let (ann, bob) = (session(&proxy, EVERYTHING).await, session(&proxy, EVERYTHING).await);
    let (mut anns, mut bobs) = tokio::join!(begin(&ann, "ask", "{}"), begin(&bob, "ask", "{}"));
    let (hers, his) = tokio::join!(answer(&ann, &mut anns, "amber"), answer(&bob, &mut bobs, "blue"));
    assert!(hers.contains("amber") && !hers.contains("blue"), "{hers}");
    assert!(his.contains("blue") && !his.contains("amber"), "{his}");
}

#[tokio::test]
async fn log_messages_of_one_client_never_reach_another() {
    let proxy = Proxy::new(&one_server("legacy", json!({}))).http().await;
    let (ann, bob) = (session(&proxy, "{}").await, session(&proxy, "{}").await);
    let mut waiting = begin(&bob, "stall", "{}").await;
    let mut stream = begin(&ann, "flood", r#"{"n":3}"#).await;
    assert!(answer(&ann, &mut stream, "").await.contains("\"n\":3"));
    bob.delete().await;
    while let Some(message) = waiting.next_message().await {
        assert_ne!(message.method().as_deref(), Some("notifications/message"), "{}", message.raw);
    }
}

#[tokio::test]
async fn a_client_that_vanishes_while_it_is_asked_leaves_nothing_behind() {
    let proxy = Proxy::new(&one_server("legacy", json!({}))).http().await;
    let ann = session(&proxy, EVERYTHING).await;
    let mut stream = begin(&ann, "ask", "{}").await;
    let question = stream.next_message().await.expect("the question");
    assert_eq!(question.method().as_deref(), Some("elicitation/create"));
    assert!(ann.delete().await < 300);
    // The server hears that nobody waits any more, and serves the next one.
    let bob = session(&proxy, EVERYTHING).await;
    let mut seen = begin(&bob, "seen", r#"{"wait_for":"the call has ended"}"#).await;
    let seen = answer(&bob, &mut seen, "").await;
    assert!(seen.contains("notifications/cancelled") && seen.contains("the call has ended"), "{seen}");
}

#[tokio::test]
async fn a_list_that_changes_in_the_middle_of_a_call_disturbs_neither() {
    let proxy = Proxy::new(&one_server("legacy", json!({}))).http().await;
    // The lists are read on the connection of clients that declare nothing.
    let (ann, mut bob) = (session(&proxy, EVERYTHING).await, session(&proxy, "{}").await);
    let mut stream = begin(&ann, "ask", "{}").await;
    let question = stream.next_message().await.expect("the question").id().expect("a question has an id");
    bob.call("add_tool", r#"{"name":"later"}"#).await.result();
    while !bob.request("tools/list", "{}").await.tool_names().contains(&"later".to_owned()) {
        tokio::task::yield_now().await;
    }
    let answer = message::result(&question, r#"{"action":"accept","content":{"colour":"red"}}"#);
    assert_eq!(ann.send(&ann.legacy(&answer)).await.status, 202);
    let done = stream.next_message().await.expect("the result");
    assert!(done.raw.contains("red"), "{}", done.raw);
}

#[tokio::test]
async fn a_server_that_starts_slower_than_its_only_client_needs_no_second_process() {
    let server = fake_backend(["--era", "legacy", "--start-delay", "1000"]);
    let mut proxy = Proxy::new(&Config::new().server("fake", &server)).stdio();
    proxy.client.initialize_with("2025-11-25", EVERYTHING).await.result();
    // The process that is called is the one that was asked for its tools.
    let seen = proxy.client.call("seen", r#"{"wait_for":"tools/list"}"#).await;
    assert!(seen.raw.contains("tools/list") && seen.raw.contains("elicitation"), "{}", seen.raw);
}

#[tokio::test]
async fn progress_keeps_a_call_of_a_handler_alive() {
    let script = r#"
sessionInit:
  script: |
    for meta, call in backends()["fake"].tools():
        if meta.name == "progress":
            publish(meta, lambda args, call = call: call(args))
"#;
    let config = one_server("legacy", json!({"timeout": "1s"})).section(script);
    let mut proxy = Proxy::new(&config).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    let answer = proxy.client.call("progress", r#"{"n":6,"ms":400}"#).await.value();
    assert_ne!(answer["result"]["isError"], true, "{answer}");
}
