//! Session-based clients and servers over HTTP: what is lost, resumed, refused, told once.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::config::Config;
use crate::support::http_client::{HttpClient, HttpReply};
use crate::support::http_request::HttpRequest;
use crate::support::in_process::{HttpProxy, Proxy};
use crate::support::message::{self, Message};
use crate::support::modern::with_meta;
use crate::support::program::Program;
use crate::support::programs::{fake_backend, fake_http_backend};

const LIST_CHANGED: &str = "notifications/tools/list_changed";

async fn proxy() -> HttpProxy {
    Proxy::new(&Config::new().server("fake", &fake_backend(["--era", "legacy"]))).http().await
}

async fn proxy_of_http_server(flags: &[&str]) -> (Program, HttpProxy, String) {
    let (server, url) = fake_http_backend(flags).await;
    let config = Config::new().remote_with("fake", &url, json!({"protocol": "2025-11-25"}));
    (server, Proxy::new(&config).http().await, url)
}

async fn session(proxy: &HttpProxy) -> HttpClient {
    let mut client = proxy.client();
    client.initialize("2025-11-25").await.result();
    client
}

async fn post(client: &HttpClient, body: &str) -> HttpReply {
    client.send(&client.legacy(body)).await
}

fn call_body(id: &str, tool: &str, arguments: &str) -> String {
    message::request(id, "tools/call", &message::call(tool, arguments))
}

#[tokio::test]
async fn a_client_that_loses_its_connection_gets_the_result_when_it_comes_back() {
    let proxy = proxy().await;
    let mut client = session(&proxy).await;
    let mut lost = post(&client, &call_body(r#""first""#, "reorder", r#"{"n":2,"who":"first"}"#)).await;
    let priming = lost.next_event().await.expect("a stream opens with an event to come back to");
    assert_eq!(priming.data.as_deref(), Some(""));
    drop(lost);
    // The server holds the first call until the second is there: both are answered after the connection was lost.
    let other = post(&client, &call_body(r#""second""#, "reorder", r#"{"n":2,"who":"second"}"#)).await;
    assert_eq!(other.response().await.structured(), r#"{"n":2,"who":"second"}"#);

    let resume = HttpRequest::get().header("Last-Event-ID", &priming.id.expect("the event has an id"));
    let mut resumed = client.send(&client.in_session(resume)).await;
    let answer = resumed.next_message().await.expect("the result is replayed");
    assert_eq!(
        (answer.id().as_deref(), answer.structured().as_str()),
        (Some(r#""first""#), r#"{"n":2,"who":"first"}"#)
    );
    assert_eq!(resumed.next_message().await, None, "only that stream's messages are replayed");
    assert!(!client.call("seen", "{}").await.structured().contains("notifications/cancelled"));
}

/// The reply to a request that a busy machine may answer too late for one body, so that it is sent again.
async fn quick(client: &HttpClient, request: &HttpRequest) -> HttpReply {
    for _ in 0..20 {
        let reply = client.send(request).await;
        if !reply.is_event_stream() {
            return reply;
        }
        reply.response().await;
    }
    panic!("every reply was an event stream");
}

#[tokio::test]
async fn a_quick_answer_is_one_json_body_if_the_client_accepts_it() {
    let proxy = proxy().await;
    let mut client = session(&proxy).await;
    let call = client.legacy(&call_body("7", "echo", r#"{"n":1}"#));
    for accept in ["application/json, text/event-stream", "*/*", "application/json"] {
        let reply = quick(&client, &call.clone().with("Accept", accept)).await;
        assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/json")), "{accept}");
        assert_eq!(reply.response().await.structured(), r#"{"n":1}"#);
    }
    let mut events = client.send(&call.with("Accept", "text/event-stream")).await;
    assert!(events.is_event_stream());
    assert_eq!(events.next_event().await.and_then(|priming| priming.data).as_deref(), Some(""));
    assert_eq!(events.response().await.structured(), r#"{"n":1}"#);
    // An error is an answer like any other.
    let refused = quick(&client, &client.legacy(&call_body("8", "no_such_tool", "{}"))).await;
    assert_eq!((refused.status, refused.header("content-type")), (200, Some("application/json")));
    assert!(refused.response().await.raw.contains("no_such_tool"));
    assert!(!client.call("seen", "{}").await.structured().contains("notifications/cancelled"));
}

#[tokio::test]
async fn an_answer_that_something_precedes_is_an_event_stream() {
    let proxy = proxy().await;
    let mut client = session(&proxy).await;
    let params = with_meta(&message::call("progress", r#"{"n":2}"#), r#"{"progressToken":"t"}"#);
    let mut reply = post(&client, &message::request("7", "tools/call", &params)).await;
    assert!(reply.is_event_stream());
    let priming = reply.next_event().await.expect("a stream opens with an event to come back to");
    assert_eq!((priming.data.as_deref(), priming.retry.is_some()), (Some(""), true));
    let messages = reply.messages().await;
    let methods: Vec<_> = messages.iter().map(Message::method).collect();
    let progress = Some("notifications/progress".to_owned());
    assert_eq!(methods, [progress.clone(), progress, None]);
    // All of it can be had again.
    let resume = HttpRequest::get().header("Last-Event-ID", &priming.id.expect("the event has an id"));
    let again = client.send(&client.in_session(resume)).await.messages().await;
    assert_eq!(again, messages);
    client.call("echo", "{}").await.result();
}

#[tokio::test]
async fn a_client_that_is_asked_at_once_is_asked_on_an_event_stream() {
    let proxy = proxy().await;
    let mut client = proxy.client();
    client.initialize_with("2025-11-25", r#"{"elicitation":{}}"#).await.result();
    let mut reply = post(&client, &call_body("7", "ask", "{}")).await;
    assert!(reply.is_event_stream());
    let question = reply.next_message().await.expect("a question");
    assert_eq!(question.method().as_deref(), Some("elicitation/create"));
    let answer = message::result(&question.id().expect("a request"), r#"{"action":"decline"}"#);
    assert_eq!(post(&client, &answer).await.status, 202);
    assert_eq!(reply.response().await.id().as_deref(), Some("7"));
}

#[tokio::test]
async fn a_client_that_drops_before_the_stream_opens_cancels_nothing() {
    let proxy = proxy().await;
    for _ in 0..20 {
        let mut client = session(&proxy).await;
        let first = client.legacy(&call_body(r#""first""#, "reorder", r#"{"n":2,"who":"first"}"#));
        let began = Instant::now();
        let lost = client.send_and_leave_open(&first).await;
        client.call("seen", r#"{"wait_for":"reorder"}"#).await.result();
        drop(lost);
        let is_in_time = began.elapsed() < Duration::from_millis(250);
        // The server holds the first call until the second is there.
        let second = client.call("reorder", r#"{"n":2,"who":"second"}"#).await;
        assert_eq!(second.structured(), r#"{"n":2,"who":"second"}"#);
        assert!(!client.call("seen", "{}").await.structured().contains("notifications/cancelled"));
        if is_in_time {
            // There is nothing to resume: the stream of that call was never opened.
            let (home, _) = client.session().and_then(|id| id.split_once('.')).expect("an id begins with the process");
            let resume = HttpRequest::get().header("Last-Event-ID", &format!("{home}-1-0"));
            assert_eq!(client.send(&client.in_session(resume)).await.status, 400);
            return;
        }
    }
    panic!("no client dropped in time");
}

#[tokio::test]
async fn an_event_id_of_no_stream_cannot_be_resumed() {
    let proxy = proxy().await;
    let client = session(&proxy).await;
    let (home, _) = client.session().and_then(|id| id.split_once('.')).expect("an id begins with the process");
    let foreign = "0123456789abcdef-1-0";
    for id in [&format!("{home}-99-1"), &format!("{home}-1-0"), foreign, "99-1", "nonsense", ""] {
        let resume = HttpRequest::get().header("Last-Event-ID", id);
        assert_eq!(client.send(&client.in_session(resume)).await.status, 400, "{id}");
    }
}

#[tokio::test]
async fn only_a_living_session_is_served() {
    let proxy = proxy().await;
    let mut client = session(&proxy).await;
    let ping = client.legacy(&message::request("7", "ping", "{}"));
    assert_eq!(client.send(&ping).await.status, 200);

    let missing = client.send(&ping.clone().without("mcp-session-id")).await;
    assert_eq!((missing.status, missing.response().await.id().as_deref()), (400, Some("7")));
    let unknown = client.send(&ping.clone().with("Mcp-Session-Id", "0123456789abcdef")).await;
    assert_eq!((unknown.status, unknown.response().await.id().as_deref()), (404, Some("7")));

    let mut stream = client.get_stream().await;
    assert!(client.delete().await < 300);
    assert_eq!(stream.next_message().await, None, "the stream of an ended session ends");
    assert_eq!(client.send(&ping).await.status, 404);
    assert_eq!(client.get_stream().await.status, 404);
    assert_eq!(client.delete().await, 404);
    client.initialize("2025-11-25").await.result();
    client.call("echo", "{}").await.result();
}

#[tokio::test]
async fn another_users_session_does_not_exist() {
    let config = Config::new().server("fake", &fake_backend(["--era", "legacy"])).section(
        "auth: { tokens: [ { token: token-for-ann-only, sub: ann }, { token: token-for-bob-only, sub: bob } ] }",
    );
    let proxy = Proxy::new(&config).http().await;
    let mut ann = proxy.client().with_header("Authorization", "Bearer token-for-ann-only");
    let bob = proxy.client().with_header("Authorization", "Bearer token-for-bob-only");
    ann.initialize("2025-11-25").await.result();
    let ping = ann.legacy(&message::request("1", "ping", "{}"));

    assert_eq!(ann.send(&ping).await.status, 200);
    let foreign = bob.send(&ping).await;
    let unknown = bob.send(&ping.clone().with("Mcp-Session-Id", "0123456789abcdef")).await;
    assert_eq!((foreign.status, unknown.status), (404, 404));
    assert_eq!(foreign.text().await, unknown.text().await, "nothing tells a foreign session from none");
    assert_eq!(bob.send(&ann.in_session(HttpRequest::get())).await.status, 404);
    assert_eq!(bob.send(&ann.in_session(HttpRequest::delete())).await.status, 404);
    assert_eq!(proxy.client().send(&ping).await.status, 401);
    assert_eq!(ann.send(&ping).await.status, 200);
}

#[tokio::test]
async fn a_version_header_may_be_missing_but_not_nonsense() {
    let proxy = proxy().await;
    let client = session(&proxy).await;
    let ping = client.legacy(&message::request("1", "ping", "{}"));
    assert_eq!(client.send(&ping.clone().without("mcp-protocol-version")).await.status, 200);
    assert_eq!(client.send(&ping.clone().with("MCP-Protocol-Version", "2025-03-26")).await.status, 200);
    let refused = client.send(&ping.with("MCP-Protocol-Version", "banana")).await;
    assert_eq!((refused.status, refused.response().await.id().as_deref()), (400, Some("1")));
}

#[tokio::test]
async fn a_version_is_agreed_on_and_its_session_works() {
    let proxy = proxy().await;
    for (asked, agreed) in [
        ("2026-07-28", "2025-11-25"),
        ("1.0", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("2024-11-05", "2024-11-05"),
    ] {
        let mut client = proxy.client();
        assert_eq!(client.initialize(asked).await.value()["result"]["protocolVersion"], agreed, "{asked}");
        assert!(client.session().is_some());
        assert_eq!(client.call("echo", r#"{"a":1.0}"#).await.structured(), r#"{"a":1.0}"#, "{asked}");
        let request = client.legacy(&call_body("9", "echo", "{}")).with("Accept", "text/event-stream");
        let mut stream = client.send(&request).await;
        let first = stream.next_event().await.expect("an event");
        let primed = first.data.as_deref() == Some("");
        assert_eq!(primed, agreed == "2025-11-25", "older clients take every event for a message: {asked}");
    }
}

#[tokio::test]
async fn a_change_nobody_heard_of_is_told_once_when_the_stream_opens() {
    let proxy = proxy().await;
    let mut quiet = session(&proxy).await;
    let mut listening = session(&proxy).await;
    quiet.request("tools/list", "{}").await.result();
    let mut news = listening.get_stream().await;
    listening.call("add_tool", r#"{"name":"first_addition"}"#).await.result();
    assert_eq!(method(news.next_message().await), LIST_CHANGED);

    let mut first = quiet.get_stream().await;
    assert_eq!(method(first.next_message().await), LIST_CHANGED);
    assert!(quiet.request("tools/list", "{}").await.tool_names().contains(&"first_addition".to_owned()));
    let mut second = quiet.get_stream().await;
    assert_eq!(first.next_message().await, None, "the older of two streams ends, with nothing more on it");

    listening.call("add_tool", r#"{"name":"second_addition"}"#).await.result();
    assert_eq!(method(second.next_message().await), LIST_CHANGED);
    let _third = quiet.get_stream().await;
    assert_eq!(second.next_message().await, None, "a change is told once");
}

fn method(message: Option<Message>) -> String {
    message.and_then(|message| message.method()).unwrap_or_default()
}

#[tokio::test]
async fn a_server_that_closes_its_stream_early_is_asked_again_for_the_rest() {
    let (_server, proxy, _) = proxy_of_http_server(&["--era", "legacy", "--priming-retry", "20"]).await;
    let mut client = session(&proxy).await;
    assert_eq!(client.call("echo", r#"{"a":1.0}"#).await.structured(), r#"{"a":1.0}"#);
    let seen = client.call("seen", r#"{"wait_for":"last=parked-"}"#).await.structured();
    assert_eq!(seen.matches(r#"\"name\":\"echo\""#).count(), 1, "the call was not repeated");
}

#[tokio::test]
async fn a_server_that_drops_its_stream_for_good_fails_that_call_once() {
    let (server, proxy, url) = proxy_of_http_server(&["--drop-stream"]).await;
    let mut client = session(&proxy).await;
    let failed = client.call("echo", r#"{"mark":"once"}"#).await;
    assert_eq!(failed.value()["result"]["isError"], true);
    assert!(failed.text().contains("`fake`"), "{}", failed.text());
    // The other era's streams are whole, so that the server can be asked what reached it.
    let mut direct = HttpClient::new(&url, server.stderr.clone());
    let seen = direct.modern_call("seen", "{}").await.structured();
    assert_eq!(seen.matches(r#"\"mark\":\"once\""#).count(), 1);
}

#[tokio::test]
async fn a_client_does_not_notice_that_a_server_forgot_its_session() {
    let (_server, proxy, _) = proxy_of_http_server(&["--era", "legacy", "--expire-session-after", "4"]).await;
    let mut client = session(&proxy).await;
    for number in 0..8 {
        let arguments = format!(r#"{{"number":{number}}}"#);
        assert_eq!(client.call("echo", &arguments).await.structured(), arguments);
    }
    let seen = client.call("seen", "{}").await.structured();
    assert!(seen.matches(r#"\"method\":\"initialize\""#).count() >= 3, "{seen}");
    for number in 0..8 {
        assert!(seen.contains(&format!(r#"{{\"number\":{number}}}"#)));
    }
}

#[tokio::test]
async fn a_server_that_forgot_its_session_is_told_the_log_level_again() {
    let (_server, proxy, _) = proxy_of_http_server(&["--era", "legacy", "--expire-session-after", "5"]).await;
    let mut client = session(&proxy).await;
    client.request("logging/setLevel", r#"{"level":"warning"}"#).await.result();
    for _ in 0..8 {
        client.call("echo", "{}").await.result();
    }
    let seen = client.call("seen", "{}").await.structured();
    // What the last session but one, which has ended, was told: its handshake, and the level before its first call.
    let sessions: Vec<&str> = seen.split(r#"\"method\":\"initialize\""#).collect();
    assert!(sessions.len() > 3, "{seen}");
    let ended = sessions[sessions.len() - 2];
    let (level, call) = (ended.find("logging/setLevel"), ended.find("tools/call"));
    assert!(level.is_some() && level < call, "{ended}");
}

#[tokio::test]
async fn a_change_is_heard_after_a_server_forgot_its_session() {
    let (_server, proxy, _) = proxy_of_http_server(&["--era", "legacy", "--expire-session-after", "4"]).await;
    let mut client = session(&proxy).await;
    let mut news = client.get_stream().await;
    for _ in 0..4 {
        client.call("echo", "{}").await.result();
    }
    client.call("add_tool", r#"{"name":"late"}"#).await.result();
    loop {
        let names = client.request("tools/list", "{}").await.tool_names();
        if names.contains(&"late".to_owned()) {
            break;
        }
        assert_eq!(method(news.next_message().await), LIST_CHANGED);
    }
}

const BATCH: &str = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/unknown"},42,{"jsonrpc":"2.0","id":"two","method":"tools/call","params":{"name":"echo","arguments":{"n":1.10}}},{"jsonrpc":"2.0","id":3,"method":"initialize","params":{}}]"#;

fn check_answers(text: &str) {
    let answers: Vec<serde_json::Value> = serde_json::from_str(text).expect("an array");
    let find = |id: serde_json::Value| answers.iter().find(|answer| answer["id"] == id).expect("an answer");
    assert_eq!(answers.len(), 4, "a notification has no answer: {text}");
    assert_eq!(find(json!(1))["result"], json!({}));
    assert!(text.contains(r#""structuredContent":{"n":1.10}"#), "{text}");
    assert!(find(json!("two"))["result"].is_object());
    assert_eq!(find(json!(3))["error"]["code"], -32600);
    assert_eq!(find(json!(null))["error"]["code"], -32600);
}

#[tokio::test]
async fn batches_over_http_belong_to_one_version() {
    let proxy = proxy().await;
    let mut client = proxy.client();
    client.initialize("2025-03-26").await.result();
    let answered = post(&client, BATCH).await;
    assert_eq!(answered.status, 200);
    check_answers(&answered.text().await);
    let silent = post(&client, r#"[{"jsonrpc":"2.0","method":"notifications/unknown"}]"#).await;
    assert_eq!((silent.status, silent.text().await.as_str()), (202, ""));
    let empty = post(&client, "[]").await;
    assert_eq!((empty.status, empty.response().await.error_code()), (400, -32600));

    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        client.initialize(version).await.result();
        let refused = post(&client, BATCH).await;
        assert_eq!((refused.status, refused.response().await.error_code()), (400, -32600), "{version}");
    }
    let modern = HttpRequest::post(BATCH).header("MCP-Protocol-Version", "2026-07-28");
    let refused = client.send(&modern).await;
    assert_eq!((refused.status, refused.response().await.error_code()), (400, -32600));
}

#[tokio::test]
async fn batches_on_stdio_belong_to_one_version() {
    let config = Config::new().server("fake", &fake_backend(["--era", "legacy"]));
    let mut proxy = Proxy::new(&config).stdio();
    let client = &mut proxy.client;
    client.initialize("2025-03-26").await.result();
    client.send(BATCH).await;
    check_answers(&client.next().await.raw);
    client.send("[]").await;
    let refused = client.next().await;
    assert_eq!((refused.error_code(), refused.id().as_deref()), (-32600, Some("null")));

    for (version, id) in [("2025-11-25", None), ("2025-06-18", Some("null"))] {
        client.initialize(version).await.result();
        client.send(BATCH).await;
        let refused = client.next().await;
        assert_eq!((refused.error_code(), refused.id().as_deref()), (-32600, id), "{version}");
    }
    client.call("echo", "{}").await.result();
}

#[tokio::test]
async fn a_client_that_opens_session_after_session_displaces_those_that_nobody_uses() {
    let config = Config::new().server("fake", &fake_backend(["--only", "echo"]));
    let proxy = Proxy::new(&config.section("serve: {maxSessions: 6, sessionLifetime: 0s}")).http().await;
    let mut clients = Vec::new();
    for _ in 0..3 {
        let mut client = proxy.client();
        client.initialize("2025-11-25").await.result();
        clients.push(client);
    }
    clients[0].call("echo", "{}").await.result();
    for _ in 0..10 {
        let mut client = proxy.client();
        client.initialize("2025-11-25").await.result();
        client.call("echo", "{}").await.result();
        // Used again each time, so it is never the least used.
        clients[0].call("echo", "{}").await.result();
    }
    for gone in &clients[1..] {
        assert_eq!(gone.send(&gone.legacy(&message::request("9", "ping", "{}"))).await.status, 404);
    }
}
