//! The fake backend and the raw client over session-based HTTP.

use crate::support::http_client::HttpClient;
use crate::support::http_request::HttpRequest;
use crate::support::message;
use crate::support::program::Program;
use crate::support::programs::fake_backend;

async fn start(flags: &[&str]) -> (Program, HttpClient) {
    let flags = ["--http", "127.0.0.1:0", "--era", "legacy"].into_iter().chain(flags.iter().copied());
    let (program, url) = Program::start_server(fake_backend(flags)).await;
    let client = HttpClient::new(&url, program.stderr.clone());
    (program, client)
}

#[tokio::test]
async fn a_session_is_opened_used_and_ended() {
    let (_server, mut client) = start(&[]).await;
    client.initialize("2025-11-25").await;
    assert!(client.session().is_some());
    assert_eq!(client.call("echo", r#"{"n":-0}"#).await.structured(), r#"{"n":-0}"#);
    assert_eq!(client.delete().await, 200);
    assert_eq!(client.call("echo", "{}").await.error_code(), -32001);
}

#[tokio::test]
async fn the_server_insists_on_session_and_version_headers() {
    let (_server, mut client) = start(&[]).await;
    client.initialize("2025-11-25").await;
    let request = client.legacy(&message::request("1", "ping", "{}"));
    assert_eq!(client.send(&request.clone().without("mcp-session-id")).await.status, 400);
    assert_eq!(client.send(&request.clone().with("Mcp-Session-Id", "other")).await.status, 404);
    assert_eq!(client.send(&request.clone().with("MCP-Protocol-Version", "2025-06-18")).await.status, 400);
    assert_eq!(client.send(&request.clone().with("Accept", "application/json")).await.status, 406);
    assert_eq!(client.send(&request.with("Content-Type", "text/plain")).await.status, 415);
    assert_eq!(client.send(&HttpRequest::bare("PATCH")).await.status, 405);
}

#[tokio::test]
async fn a_server_works_without_sessions_and_as_plain_pretty_json() {
    let (_server, mut client) = start(&["--session", "off", "--json", "--pretty", "--no-get"]).await;
    client.initialize("2025-11-25").await;
    assert_eq!(client.session(), None);
    let reply = client.send(&client.legacy(&message::request("5", "tools/call", &message::call("echo", "{}")))).await;
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert!(reply.text().await.starts_with("{\n  \"jsonrpc\":\"2.0\",\n"));
    assert_eq!(client.get_stream().await.status, 405);
}

#[tokio::test]
async fn pretty_events_have_many_data_lines() {
    let (_server, mut client) = start(&["--pretty"]).await;
    client.initialize("2025-11-25").await;
    assert!(client.call("echo", r#"{"a":[1,2]}"#).await.raw.contains('\n'));
}

#[tokio::test]
async fn a_change_is_told_on_the_standalone_stream() {
    let (_server, mut client) = start(&[]).await;
    client.initialize("2025-11-25").await;
    let mut stream = client.get_stream().await;
    assert_eq!(stream.next_event().await.expect("it opens with a comment").comments, ["open"]);
    client.call("add_tool", "{}").await;
    let changed = stream.next_message().await.expect("the stream is open");
    assert_eq!(changed.method().as_deref(), Some("notifications/tools/list_changed"));
}

#[tokio::test]
async fn a_session_expires_after_some_requests() {
    let (_server, mut client) = start(&["--expire-session-after", "2"]).await;
    client.initialize("2025-11-25").await;
    client.call("echo", "{}").await.result();
    client.call("echo", "{}").await.result();
    assert_eq!(client.call("echo", "{}").await.error_code(), -32001);
    client.initialize("2025-11-25").await;
    client.call("echo", "{}").await.result();
}

#[tokio::test]
async fn a_stream_closed_after_its_priming_event_is_resumed() {
    let (_server, mut client) = start(&["--priming-retry", "20"]).await;
    client.initialize("2025-11-25").await;
    let body = message::request("9", "tools/call", &message::call("echo", "{}"));
    let mut reply = client.send(&client.legacy(&body)).await;
    let priming = reply.next_event().await.expect("a priming event");
    assert_eq!((priming.data.as_deref(), priming.retry.as_deref()), (Some(""), Some("20")));
    assert_eq!(reply.next_event().await, None);
    let resume = HttpRequest::get().header("Last-Event-ID", &priming.id.expect("it has an id"));
    let answer = client.send(&client.in_session(resume)).await.response().await;
    assert_eq!(answer.id().as_deref(), Some("9"));
}

#[tokio::test]
async fn a_stream_is_dropped_without_an_answer() {
    let (_server, mut client) = start(&["--drop-stream"]).await;
    client.initialize("2025-11-25").await;
    let body = message::request("9", "tools/call", &message::call("echo", "{}"));
    let mut reply = client.send(&client.legacy(&body)).await;
    assert!(reply.is_event_stream());
    assert_eq!(reply.next_message().await, None);
}

#[tokio::test]
async fn a_dropped_connection_cancels_nothing() {
    let (_server, mut client) = start(&[]).await;
    client.initialize("2025-11-25").await;
    let body = message::request("77", "tools/call", &message::call("stall", "{}"));
    let connection = client.send_and_leave_open(&client.legacy(&body)).await;
    client.call("seen", r#"{"wait_for":"stall"}"#).await.result();
    drop(connection);
    let seen = client.call("seen", r#"{"wait_for":"closed 77"}"#).await;
    assert!(!seen.structured().contains("notifications/cancelled"));
}

#[tokio::test]
async fn odd_front_doors_answer_as_told() {
    let probe = HttpRequest::modern("1", "server/discover", "{}");
    let (_server, client) = start(&["--html"]).await;
    assert_eq!(client.send(&probe).await.header("content-type"), Some("text/html"));
    let (_server, client) = start(&["--status", "503"]).await;
    assert_eq!(client.send(&probe).await.status, 503);
    let (_server, client) = start(&["--redirect", "http://127.0.0.1:1/elsewhere"]).await;
    assert_eq!(client.send(&probe).await.header("location"), Some("http://127.0.0.1:1/elsewhere"));
    let (_server, client) = start(&["--require-bearer", "secret"]).await;
    let refused = client.send(&probe).await;
    assert_eq!((refused.status, refused.header("www-authenticate").is_some()), (401, true));
    let mut client = client.with_header("Authorization", "Bearer secret");
    assert_eq!(client.send(&probe).await.status, 400);
    client.initialize("2025-11-25").await.result();
    let (_server, mut client) = start(&["--discover-status", "404"]).await;
    assert_eq!(client.send(&probe).await.status, 404);
    client.initialize("2025-11-25").await.result();
}

#[tokio::test]
async fn events_are_spelled_in_every_legal_way() {
    for spelling in ["plain", "crlf", "bytes", "noisy"] {
        let (_server, mut client) = start(&["--sse", spelling, "--session", "off"]).await;
        let answer = client.call("echo", r#"{"text":"日本語"}"#).await;
        assert_eq!(answer.structured(), r#"{"text":"日本語"}"#, "{spelling}");
    }
    let body = message::request("1", "tools/call", &message::call("echo", "{}"));
    let (_server, client) = start(&["--sse", "cr", "--session", "off"]).await;
    assert!(client.send(&client.legacy(&body)).await.text().await.starts_with("event: message\rdata: {"));
    let (_server, client) = start(&["--sse", "unterminated", "--session", "off"]).await;
    assert_eq!(client.send(&client.legacy(&body)).await.next_message().await, None);
}
