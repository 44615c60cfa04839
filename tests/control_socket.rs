//! The control API on the socket of a running proxy, without a client of ours.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use crate::support::config::Config;
use crate::support::patience::within;
use crate::support::programs::fake_backend;
use crate::support::proxy::{Proxy, StdioProxy};

async fn serving() -> StdioProxy {
    let config = Config::new()
        .server_with("fake", &fake_backend(["--only", "echo,progress,ask,slow"]), json!({"maxConcurrent": 1}))
        .section("serve: {maxBodyBytes: 2000}");
    let mut proxy = Proxy::new(&config).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy.tools().await;
    proxy
}

async fn connect(proxy: &StdioProxy) -> UnixStream {
    let socket = format!("runtime/starlark-mcp-proxy/{}.sock", proxy.client.program.id());
    UnixStream::connect(proxy.world.directory.path().join(socket)).await.expect("it listens")
}

/// Sends a request whose answer ends the connection.
async fn begin(proxy: &StdioProxy, head: &str, body: &str) -> UnixStream {
    let mut stream = connect(proxy).await;
    let request =
        format!("{head} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).await.expect("it reads");
    stream
}

/// What arrives until it contains this text.
async fn read_until(stream: &mut UnixStream, wanted: &str) -> String {
    let mut text = String::new();
    while !text.contains(wanted) {
        let mut part = vec![0; 4096];
        let length = stream.read(&mut part).await.expect("it goes on");
        assert!(length > 0, "{text}");
        text += &String::from_utf8_lossy(&part[..length]);
    }
    text
}

fn call_of(key: &str, arguments: &Value) -> String {
    json!({"kind": "tool", "key": key, "params": {"name": key, "arguments": arguments}}).to_string()
}

/// The status and the body of the answer to a request.
async fn ask(proxy: &StdioProxy, head: &str, body: &str) -> (u16, String) {
    let mut stream = begin(proxy, head, body).await;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("it is text");
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
}

#[tokio::test]
async fn it_shows_the_status_and_the_surface() {
    let proxy = serving().await;
    let (status, body) = ask(&proxy, "GET /status", "").await;
    let told: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!((status, &told["pid"]), (200, &json!(proxy.client.program.id())));
    let (status, body) = ask(&proxy, "GET /surface?user=ann", "").await;
    let surface: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!((status, &surface["servers"][0]["status"]), (200, &json!("ready")));
    let first = &surface["published"][0];
    assert_eq!((&first["kind"], &first["server"]), (&json!("tool"), &json!("fake")));
    assert_eq!(first["definition"]["name"], "echo");
    assert_eq!(surface["offered"].as_array().map(Vec::len), Some(4));
    assert_eq!(surface["histories"], json!(null));
    let (_, body) = ask(&proxy, "GET /surface?histories=true", "").await;
    let surface: Value = serde_json::from_str(&body).expect("JSON");
    let first = &surface["histories"][0];
    assert_eq!((&first["name"], &first["became"]), (&json!("echo"), &json!("forwarded")), "{body}");
    assert!(first["publishedAt"][0]["line"].is_u64(), "{body}");
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_with_a_reason() {
    let proxy = serving().await;
    let large = "x".repeat(3000);
    for (head, body, expected, reason) in [
        ("GET /nothing", "", 404, "unknown path"),
        ("POST /status", "", 405, "method not allowed"),
        ("GET /find?query=", "", 400, "`query` is missing"),
        ("POST /call", "{", 400, "invalid request"),
        ("POST /call", r#"{"kind":"tool","key":"echo","params":{},"more":1}"#, 400, "unknown field `more`"),
        ("POST /call", r#"{"kind":"thing","key":"echo","params":{}}"#, 400, "`kind` must be"),
        ("POST /exec", "[]", 400, "invalid request"),
        ("POST /elicitations/x", "{}", 400, "invalid request"),
        ("POST /elicitations/7", "{}", 404, "no longer open"),
        ("POST /events", "", 405, "method not allowed"),
        ("GET /calls/00000000", "", 404, "no such call is kept"),
        ("GET /calls/00000000?secrets=yes", "", 400, "`secrets` must be `show`"),
        ("POST /servers/fact/restart", "", 404, "there is no server `fact`"),
        ("POST /call", &large, 413, "larger than 2000 bytes"),
    ] {
        let (status, answer) = ask(&proxy, head, body).await;
        assert_eq!(status, expected, "{head}: {answer}");
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        assert!(answer["error"].as_str().is_some_and(|text| text.contains(reason)), "{head}: {answer}");
    }
    // No HTTP at all, as older versions spoke.
    let mut stream = connect(&proxy).await;
    stream.write_all(b"status\n\n").await.expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("it is text");
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
}

#[tokio::test]
async fn a_call_is_a_stream_of_events_that_ends_with_the_result() {
    let proxy = serving().await;
    let (status, events) = ask(&proxy, "POST /call", &call_of("echo", &json!({"a": 1}))).await;
    assert!(status == 200 && events.contains(r#"data: {"result":{"#), "{events}");
    let (_, events) = ask(&proxy, "POST /call", &call_of("progress", &json!({"n": 2}))).await;
    let (told, result) = (events.find(r#""message":"step 2""#), events.find(r#"data: {"result":{"#));
    assert!(told.is_some() && told < result, "{events}");
    let (_, events) = ask(&proxy, "POST /call", &call_of("nothing", &json!({}))).await;
    assert!(events.contains(r#"data: {"error":{"message":"no such item is published","unknown":true}}"#), "{events}");
}

#[tokio::test]
async fn a_call_reaches_the_item_that_policy_was_asked_about() {
    let proxy = serving().await;
    let other = json!({"kind": "tool", "key": "echo", "params": {"name": "slow", "arguments": {"a": 1}}});
    let (status, events) = ask(&proxy, "POST /call", &other.to_string()).await;
    assert!(status == 200 && events.contains(r#""structuredContent":{"a":1}"#), "{events}");
}

#[tokio::test]
async fn events_tell_of_calls_and_of_servers() {
    let proxy = serving().await;
    let (_, before) = ask(&proxy, "GET /calls", "").await;
    assert_eq!(before, r#"{"recording":false,"calls":[]}"#);
    let mut events = begin(&proxy, "GET /events", "").await;
    read_until(&mut events, "text/event-stream").await;
    ask(&proxy, "POST /call", &call_of("echo", &json!({"a": 1}))).await;
    let call = read_until(&mut events, "\n\n").await;
    assert!(
        call.contains(r#"data: {"call":{"id":""#) && call.contains(r#""source":"control","outcome":"ok""#),
        "{call}"
    );
    assert!(!call.contains("arguments"), "events have facts, and nothing that was sent: {call}");
    let (status, restarted) = ask(&proxy, "POST /servers/fake/restart", "").await;
    assert!(status == 200 && restarted.contains(r#""status":"ready""#), "{restarted}");
    read_until(&mut events, r#"data: {"server":{"name":"fake","status":"ready","error":""}}"#).await;
    let (_, after) = ask(&proxy, "GET /calls", "").await;
    let after: Value = serde_json::from_str(&after).expect("JSON");
    assert_eq!((&after["recording"], &after["calls"][0]["name"]), (&json!(true), &json!("echo")));
}

#[tokio::test]
async fn a_question_is_answered_by_its_number_and_once() {
    let proxy = serving().await;
    let call = json!({
        "kind": "tool", "key": "ask", "params": {"name": "ask", "arguments": {"message": "Which?"}},
        "capabilities": {"elicitation": {"form": {}}},
    });
    let mut stream = begin(&proxy, "POST /call", &call.to_string()).await;
    let mut events = read_until(&mut stream, "answerSeconds").await;
    let (_, question) = events.split_once(r#""elicitation":{"id":"#).unwrap_or_else(|| panic!("{events}"));
    let id = question.split(',').next().unwrap_or_default().to_owned();
    let answer = json!({"action": "accept", "content": {"colour": "teal"}}).to_string();
    assert_eq!(ask(&proxy, &format!("POST /elicitations/{id}"), &answer).await.0, 200);
    assert_eq!(ask(&proxy, &format!("POST /elicitations/{id}"), &answer).await.0, 404);
    stream.read_to_string(&mut events).await.expect("it is text");
    assert!(events.contains(r#"data: {"result":{"#) && events.contains("teal"), "{events}");
}

#[tokio::test]
async fn a_caller_that_leaves_ends_its_call() {
    let proxy = serving().await;
    let mut stream = begin(&proxy, "POST /call", &call_of("slow", &json!({"ms": 600_000}))).await;
    read_until(&mut stream, "text/event-stream").await;
    drop(stream);
    // The server takes one call at a time.
    let echo = call_of("echo", &json!({}));
    let next = ask(&proxy, "POST /call", &echo);
    let (_, events) = within("the next call", &proxy.client.program.stderr, next).await;
    assert!(events.contains(r#"data: {"result":{"#), "{events}");
}
