//! A stateless client that goes away has cancelled its request, and the server behind hears of it once. A client that
//! sends a cancellation may say why, and the server hears that too.

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::http_request::HttpRequest;
use crate::support::in_process::Proxy;
use crate::support::message::{self, Message};
use crate::support::modern::{VERSION, meta_members, with_meta};
use crate::support::program::Program;
use crate::support::programs::fake_backend;
use crate::support::stdio_client::StdioClient;

/// The four kinds of server, and how each is told that a call is cancelled.
const SERVERS: [(&str, bool, &str); 4] = [
    ("legacy", false, "notifications/cancelled"),
    ("modern", false, "notifications/cancelled"),
    ("legacy", true, "notifications/cancelled"),
    ("modern", true, "closed "),
];

async fn server(era: &str, http: bool) -> (Option<Program>, Config) {
    let config = Config::new().section("sessionInit: {preset: passthrough}");
    if !http {
        return (None, config.server("fake", &fake_backend(["--era", era])));
    }
    let (server, url) = Program::start_server(fake_backend(["--era", era, "--http", "127.0.0.1:0"])).await;
    (Some(server), config.remote("fake", &url))
}

fn stall(mark: &str) -> HttpRequest {
    HttpRequest::modern("1", "tools/call", &message::call("stall", &format!(r#"{{"mark":"{mark}"}}"#)))
}

/// What the server saw, as soon as it saw this, without the questions about it.
async fn seen(client: &mut HttpClient, wanted: &str) -> String {
    let record = client.modern_call("seen", &format!(r#"{{"wait_for":"{wanted}"}}"#)).await.value();
    let record = &record["result"]["structuredContent"];
    let lines = ["messages", "http"].into_iter().flat_map(|kind| record[kind].as_array().into_iter().flatten());
    let lines = lines.filter_map(serde_json::Value::as_str).filter(|line| !line.contains("wait_for"));
    lines.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn a_client_that_leaves_cancels_its_call_once() {
    for (era, http, sign) in SERVERS {
        let (_server, config) = server(era, http).await;
        let proxy = Proxy::new(&config).http().await;
        let mut client = proxy.client();
        let connection = client.send_and_leave_open(&stall("before the first byte")).await;
        seen(&mut client, "before the first byte").await;
        drop(connection);
        let record = seen(&mut client, sign).await;
        assert_eq!(record.matches(sign).count(), 1, "{era}, HTTP {http}: {record}");
    }
}

#[tokio::test]
async fn a_client_that_leaves_an_open_stream_cancels_its_call_once() {
    for (era, http, sign) in SERVERS {
        let (_server, config) = server(era, http).await;
        let proxy = Proxy::new(&config).http().await;
        let mut client = proxy.client();
        let reply = client.send(&stall("in the stream")).await;
        assert!(reply.is_event_stream());
        // A call that leaves before its server has started is never sent, and there would be nothing to cancel.
        seen(&mut client, "in the stream").await;
        drop(reply);
        let record = seen(&mut client, sign).await;
        assert_eq!(record.matches(sign).count(), 1, "{era}, HTTP {http}: {record}");
    }
}

#[tokio::test]
async fn a_client_that_leaves_with_its_answer_cancels_nothing() {
    for (era, http, sign) in SERVERS {
        let (_server, config) = server(era, http).await;
        let proxy = Proxy::new(&config).http().await;
        let mut client = proxy.client();
        for _ in 0..3 {
            client.modern_call("echo", "{}").await.result();
        }
        let record = seen(&mut client, "echo").await;
        assert!(!record.contains(sign), "{era}, HTTP {http}: {record}");
    }
}

const REASON: &str = r#"the user said \"stop\""#;
const WAIT_FOR_CALL: &str = r#"{"wait_for":"\"name\":\"stall\""}"#;
const WAIT_FOR_END: &str = r#"{"wait_for":"notifications/cancelled"}"#;

fn cancellation(id: &str) -> String {
    format!(r#"{{"requestId":{id},"reason":"{REASON}"}}"#)
}

/// The reason in the only cancellation that the server received.
fn reason(seen: &Message) -> Value {
    let messages = seen.value()["result"]["structuredContent"]["messages"].clone();
    let texts = messages.as_array().into_iter().flatten().filter_map(Value::as_str);
    let messages = texts.filter_map(|text| serde_json::from_str::<Value>(text).ok());
    let mut ends = messages.filter(|message| message["method"] == "notifications/cancelled");
    let params = ends.next().map(|message| message["params"].clone());
    assert!(ends.next().is_none(), "{seen:?}");
    params.map_or(Value::Null, |params| params["reason"].clone())
}

/// Calls `stall` over stdio, cancels it with a reason, and returns the reason that the server got.
async fn told_over_stdio(mut client: StdioClient, meta: &str) -> Value {
    let with_meta = |tool: &str, arguments: &str| with_meta(&message::call(tool, arguments), meta);
    let id = client.begin("tools/call", &with_meta("stall", "{}")).await;
    client.request("tools/call", &with_meta("seen", WAIT_FOR_CALL)).await.result();
    client.notify("notifications/cancelled", &cancellation(&id)).await;
    reason(&client.request("tools/call", &with_meta("seen", WAIT_FOR_END)).await)
}

#[tokio::test]
async fn the_reason_of_a_cancellation_reaches_the_server() {
    let expected = json!("the user said \"stop\"");
    let stateless = format!("{{{}}}", meta_members(VERSION, r#"{"elicitation":{}}"#));
    for (era, http, _) in &SERVERS[..3] {
        let case = format!("{era}, HTTP {http}");

        let (_server, config) = server(era, *http).await;
        let mut proxy = Proxy::new(&config).stdio();
        proxy.client.initialize("2025-11-25").await.result();
        assert_eq!(told_over_stdio(proxy.client, "{}").await, expected, "{case}, session over stdio");

        let (_server, config) = server(era, *http).await;
        let proxy = Proxy::new(&config).stdio();
        assert_eq!(told_over_stdio(proxy.client, &stateless).await, expected, "{case}, stateless over stdio");

        let (_server, config) = server(era, *http).await;
        let proxy = Proxy::new(&config).http().await;
        let mut client = proxy.client();
        client.initialize("2025-11-25").await.result();
        let call = message::request("501", "tools/call", &message::call("stall", "{}"));
        let _stream = client.send(&client.legacy(&call)).await;
        client.call("seen", WAIT_FOR_CALL).await.result();
        let cancel = message::notification("notifications/cancelled", &cancellation("501"));
        assert_eq!(client.send(&client.legacy(&cancel)).await.status, 202);
        assert_eq!(reason(&client.call("seen", WAIT_FOR_END).await), expected, "{case}, session over HTTP");
    }
}

#[tokio::test]
async fn the_reason_passes_through_a_handler() {
    let script = r#"sessionInit:
  script: |
    for meta, call in backends()["fake"].tools():
        publish(meta, lambda params, call = call: call(params))
"#;
    let config = Config::new().server("fake", &fake_backend(["--era", "legacy"])).section(script);
    let mut proxy = Proxy::new(&config).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    assert_eq!(told_over_stdio(proxy.client, "{}").await, json!("the user said \"stop\""));
}

/// Only a text is a reason; anything else a client writes there is left out.
#[tokio::test]
async fn a_reason_that_is_not_a_text_is_left_out() {
    let (_server, config) = server("legacy", false).await;
    let mut proxy = Proxy::new(&config).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    let id = proxy.client.begin("tools/call", &message::call("stall", "{}")).await;
    proxy.client.call("seen", WAIT_FOR_CALL).await.result();
    proxy.client.notify("notifications/cancelled", &format!(r#"{{"requestId":{id},"reason":{{"a":1}}}}"#)).await;
    assert_eq!(reason(&proxy.client.call("seen", WAIT_FOR_END).await), Value::Null);
}
