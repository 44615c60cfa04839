//! The JSON-RPC envelope and its framing, as a client on a pipe or on HTTP sees them.

use std::process::Command;

use serde_json::Value;

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::http_request::HttpRequest;
use crate::support::in_process::{HttpProxy, Proxy, StdioProxy};
use crate::support::message::{self, Message};
use crate::support::program::Program;
use crate::support::programs::fake_backend;
use crate::support::proxy;

fn in_front_of(backend: &Command) -> Proxy {
    Proxy::new(&Config::new().server("fake", backend).section("sessionInit: {preset: passthrough}"))
}

/// The same as a program of its own, which ends.
fn program(backend: &Command) -> proxy::Proxy {
    proxy::Proxy::new(&Config::new().server("fake", backend).section("sessionInit: {preset: passthrough}"))
}

async fn stdio_session(version: &str) -> StdioProxy {
    let mut proxy = in_front_of(&fake_backend(["--era", "legacy"])).stdio();
    proxy.client.initialize(version).await.result();
    proxy
}

async fn http_session(version: &str) -> (HttpProxy, HttpClient) {
    let proxy = in_front_of(&fake_backend(["--era", "legacy"])).http().await;
    let mut client = proxy.client();
    client.initialize(version).await.result();
    (proxy, client)
}

/// Asks for something harmless; nothing may come before its answer.
async fn nothing_was_said(proxy: &mut StdioProxy) {
    proxy.client.send(&message::request(r#""quiet""#, "ping", "{}")).await;
    assert_eq!(proxy.client.next().await.raw, r#"{"jsonrpc":"2.0","id":"quiet","result":{}}"#);
}

#[tokio::test]
async fn an_id_that_is_null_or_fractional_is_refused() {
    let mut proxy = stdio_session("2025-11-25").await;
    for id in ["null", "1.5", "1e3", "true", "{}", "[1]"] {
        proxy.client.send(&message::request(id, "tools/list", "{}")).await;
        let refused = proxy.client.next().await;
        assert_eq!((refused.error_code(), refused.id(), refused.member("result")), (-32600, None, None), "{id}");
    }
    let (_proxy, client) = http_session("2025-11-25").await;
    for id in ["null", "1.5"] {
        let reply = client.send(&client.legacy(&message::request(id, "tools/list", "{}"))).await;
        assert_eq!((reply.status, reply.response().await.error_code()), (400, -32600), "{id}");
    }
}

#[tokio::test]
async fn the_same_digits_as_text_and_as_number_are_two_ids() {
    let mut proxy = stdio_session("2025-11-25").await;
    let call = |mark: &str| message::call("reorder", &format!(r#"{{"n":2,"mark":"{mark}"}}"#));
    proxy.client.send(&message::request("1", "tools/call", &call("number"))).await;
    proxy.client.send(&message::request(r#""1""#, "tools/call", &call("text"))).await;
    assert_eq!(proxy.client.response("1").await.structured(), r#"{"n":2,"mark":"number"}"#);
    assert_eq!(proxy.client.response(r#""1""#).await.structured(), r#"{"n":2,"mark":"text"}"#);
}

#[tokio::test]
async fn an_id_comes_back_digit_for_digit() {
    let ids = ["9007199254740993", "123456789012345678901234567890", "-7", r#""\u0041 \/ é""#, r#""""#];
    let mut proxy = stdio_session("2025-11-25").await;
    for id in ids {
        proxy.client.send(&message::request(id, "tools/call", &message::call("echo", "{}"))).await;
        assert_eq!(proxy.client.next().await.id().as_deref(), Some(id));
    }
    let proxy = in_front_of(&fake_backend(["--era", "legacy"])).http().await;
    for id in ids {
        let reply = proxy.client().send(&HttpRequest::modern(id, "tools/call", &message::call("echo", "{}"))).await;
        assert_eq!(reply.response().await.id().as_deref(), Some(id));
    }
}

#[tokio::test]
async fn an_id_can_be_used_again_as_soon_as_it_is_answered() {
    let mut proxy = stdio_session("2025-11-25").await;
    let (http, client) = http_session("2025-11-25").await;
    for _ in 0..100 {
        let request = message::request("1", "tools/call", &message::call("echo", "{}"));
        proxy.client.send(&request).await;
        proxy.client.response("1").await.result();
        client.send(&client.legacy(&request)).await.response().await.result();
        http.client().send(&HttpRequest::modern("1", "tools/list", "{}")).await.response().await.result();
    }
}

#[tokio::test]
async fn a_line_that_is_not_json_is_refused_and_the_next_is_served() {
    for (version, id) in [("2025-11-25", None), ("2025-06-18", Some("null"))] {
        let mut proxy = stdio_session(version).await;
        for line in ["{not json", r#"{"jsonrpc":"2.0","id":1,"method":"ping""#, "[", "\u{0}"] {
            proxy.client.send(line).await;
            let refused = proxy.client.next().await;
            assert_eq!((refused.error_code(), refused.id().as_deref()), (-32700, id), "{line}");
        }
        nothing_was_said(&mut proxy).await;
    }
}

#[tokio::test]
async fn a_message_that_is_json_but_no_request_is_told_so_under_its_id() {
    let mut proxy = stdio_session("2025-11-25").await;
    for (line, id) in [
        ("42", None),
        (r#""text""#, None),
        ("{}", None),
        (r#"{"id":4,"method":"ping"}"#, Some("4")),
        (r#"{"jsonrpc":"1.0","id":5,"method":"ping"}"#, Some("5")),
        (r#"{"jsonrpc":"2.0","id":6}"#, Some("6")),
        (r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":3}"#, Some("7")),
    ] {
        proxy.client.send(line).await;
        let refused = proxy.client.next().await;
        assert_eq!((refused.error_code(), refused.id().as_deref()), (-32600, id), "{line}");
    }
    nothing_was_said(&mut proxy).await;
}

#[tokio::test]
async fn crlf_empty_lines_and_a_byte_order_mark_do_no_harm() {
    let mut proxy = in_front_of(&fake_backend(["--era", "legacy"])).stdio();
    let hello = message::request("1", "initialize", &message::initialize_params("2025-11-25", "{}"));
    proxy.client.send_bytes(format!("\u{feff}{hello}\r\n\r\n\n  \n").as_bytes()).await;
    assert_eq!(proxy.client.next().await.id().as_deref(), Some("1"));
    let request = message::request("2", "tools/call", &message::call("echo", "{}"));
    proxy.client.send_bytes(format!("\r\n{request}\r\n\n").as_bytes()).await;
    assert_eq!(proxy.client.next().await.structured(), "{}");
    nothing_was_said(&mut proxy).await;
}

#[tokio::test]
async fn what_was_asked_before_the_end_of_input_is_still_answered() {
    let mut proxy = program(&fake_backend(["--era", "legacy"])).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    let mut asked = Vec::new();
    for _ in 0..20 {
        asked.push(proxy.client.begin("tools/call", &message::call("slow", r#"{"ms":50}"#)).await);
    }
    proxy.client.close_stdin();
    for id in asked {
        proxy.client.response(&id).await.result();
    }
    assert!(proxy.client.finish().await.success());
}

#[tokio::test]
async fn a_pretty_printed_answer_reaches_a_pipe_as_one_line() {
    for form in ["--json", "--stdio"] {
        let flags = ["--era", "legacy", "--pretty", form, "--http", "127.0.0.1:0"];
        let (server, url) = Program::start_server(fake_backend(flags)).await;
        let mut direct = HttpClient::new(&url, server.stderr.clone());
        direct.initialize("2025-11-25").await;
        let arguments = r#"{"b":1.10,"a":["x","\n"]}"#;
        let pretty = direct.call("echo", arguments).await.result();
        assert!(pretty.contains('\n'), "the server spreads its answers over lines");

        let config = Config::new().remote("fake", &url).section("sessionInit: {preset: passthrough}");
        let mut proxy = Proxy::new(&config).stdio();
        proxy.client.initialize("2025-11-25").await;
        assert_eq!(proxy.client.call("echo", arguments).await.result(), pretty.replace('\n', " "));
    }
}

/// Which of two equal keys counts is read differently by different parsers.
#[tokio::test]
async fn a_key_that_occurs_twice_where_it_matters_is_refused_before_any_server_sees_it() {
    let mut proxy = stdio_session("2025-11-25").await;
    for (line, code) in [
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"echo","arguments":{"twice":1}}}"#,
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{},"params":{"name":"echo","arguments":{"twice":1}}}"#,
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"seen","name":"echo","arguments":{"twice":1}}}"#,
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"seen","n\u0061me":"echo","arguments":{"twice":1}}}"#,
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{},"arguments":{"twice":1}}}"#,
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"twice":1},"_meta":{"progressToken":1,"progressToken":2}}}"#,
            -32602,
        ),
    ] {
        proxy.client.send(line).await;
        assert_eq!(proxy.client.next().await.error_code(), code, "{line}");
    }
    let seen = proxy.client.call("seen", "{}").await.structured();
    assert!(seen.contains("initialize") && !seen.contains("twice"), "{seen}");
}

#[tokio::test]
async fn ten_thousand_nested_arrays_are_refused_and_nothing_falls_over() {
    let deep = format!(r#"{{"d":{}{}}}"#, "[".repeat(10_000), "]".repeat(10_000));
    let request = message::request("1", "tools/call", &message::call("echo", &deep));
    let mut proxy = stdio_session("2025-11-25").await;
    for line in [&request, &"[".repeat(10_000)] {
        proxy.client.send(line).await;
        let refused = proxy.client.next().await.error_code();
        assert!([-32600, -32700].contains(&refused), "{refused}");
    }
    nothing_was_said(&mut proxy).await;
    let (_proxy, mut client) = http_session("2025-11-25").await;
    let reply = client.send(&client.legacy(&request)).await;
    assert_eq!((reply.status, reply.response().await.error_code()), (400, -32600));
    client.call("echo", "{}").await.result();
}

#[tokio::test]
async fn bytes_that_are_not_utf8_are_refused_and_a_lone_surrogate_is_carried() {
    let mut bytes = message::request("1", "tools/call", &message::call("echo", r#"{"s":"?"}"#)).into_bytes();
    let at = bytes.iter().position(|byte| *byte == b'?').expect("the mark is there");
    bytes[at] = 0xff;
    let mut proxy = stdio_session("2025-11-25").await;
    proxy.client.send_bytes(&[bytes.as_slice(), b"\n"].concat()).await;
    assert_eq!(proxy.client.next().await.error_code(), -32700);
    assert_eq!(proxy.client.call("echo", r#"{"s":"\ud800"}"#).await.structured(), r#"{"s":"\ud800"}"#);

    let (_proxy, mut client) = http_session("2025-11-25").await;
    let mut request = client.legacy("");
    request.body = Some(bytes);
    let reply = client.send(&request).await;
    assert_eq!((reply.status, reply.response().await.error_code()), (400, -32700));
    assert_eq!(client.call("echo", r#"{"s":"\udc00"}"#).await.structured(), r#"{"s":"\udc00"}"#);
}

#[tokio::test]
async fn what_a_client_answers_unasked_is_dropped() {
    let mut proxy = stdio_session("2025-11-25").await;
    proxy.client.send(r#"{"jsonrpc":"2.0","id":77,"result":{}}"#).await;
    proxy.client.send(r#"{"jsonrpc":"2.0","id":77,"error":{"code":1,"message":"m"}}"#).await;
    proxy.client.send(r#"{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}"#).await;
    nothing_was_said(&mut proxy).await;
}

async fn odd_answers_harm_nobody(mut proxy: StdioProxy, kind: &str) {
    proxy.client.initialize("2025-11-25").await;
    assert_eq!(proxy.client.call("unknown_id", "{}").await.text(), "for you", "{kind}");
    assert_eq!(proxy.client.call("twice", "{}").await.text(), "first", "{kind}");
    for tool in ["both", "neither"] {
        let failed = proxy.client.call(tool, "{}").await;
        assert_eq!(failed.value()["result"]["isError"], true, "{kind}, {tool}: {}", failed.raw);
    }
    assert_eq!(proxy.client.call("echo", r#"{"a":1}"#).await.structured(), r#"{"a":1}"#, "{kind}");
    assert_eq!(proxy.client.unclaimed().map(|message| &message.raw).next(), None, "{kind}");
}

#[tokio::test]
async fn a_server_that_answers_strangers_twice_or_in_two_ways_harms_nobody() {
    for era in ["legacy", "modern"] {
        odd_answers_harm_nobody(in_front_of(&fake_backend(["--era", era])).stdio(), &format!("{era} stdio")).await;
        for flag in ["--json", "--stdio"] {
            let flags = ["--era", era, flag, "--http", "127.0.0.1:0"];
            let (_server, url) = Program::start_server(fake_backend(flags)).await;
            let config = Config::new().remote("fake", &url).section("sessionInit: {preset: passthrough}");
            odd_answers_harm_nobody(Proxy::new(&config).stdio(), &format!("{era} HTTP {flag}")).await;
        }
    }
}

#[tokio::test]
async fn lines_of_a_server_that_are_no_messages_are_passed_over() {
    let mut proxy = stdio_session("2025-11-25").await;
    assert_eq!(proxy.client.call("garbage", r#"{"a":1}"#).await.structured(), r#"{"a":1}"#);
    assert_eq!(proxy.client.unclaimed().count(), 0);
}

fn ids(batch: &Message) -> Vec<String> {
    let batch = batch.value();
    let mut ids: Vec<String> =
        batch.as_array().expect("the answer is an array").iter().map(|item| item["id"].to_string()).collect();
    ids.sort();
    ids
}

fn mixed_batch() -> String {
    let echo = message::request("1", "tools/call", &message::call("echo", r#"{"n":1.10}"#));
    let ping = message::request(r#""p""#, "ping", "{}");
    let initialize = message::request("3", "initialize", &message::initialize_params("2025-03-26", "{}"));
    let note = message::notification("notifications/foo", "{}");
    format!("[{echo},{note},7,{ping},{initialize}]")
}

fn mixed_answers(answers: &Message) {
    assert_eq!(ids(answers), [r#""p""#, "1", "3", "null"]);
    let parsed = answers.value();
    for refused in [Value::Null, 3.into()] {
        let found = parsed.as_array().and_then(|items| items.iter().find(|item| item["id"] == refused));
        assert_eq!(found.map(|item| &item["error"]["code"]), Some(&(-32600).into()));
    }
    assert!(answers.raw.contains(r#""structuredContent":{"n":1.10}"#), "{}", answers.raw);
}

#[tokio::test]
async fn a_batch_of_the_revision_that_has_them_is_answered_as_one() {
    let mut proxy = stdio_session("2025-03-26").await;
    proxy.client.send(&mixed_batch()).await;
    mixed_answers(&proxy.client.next().await);
    proxy.client.send(&format!("[{}]", message::notification("notifications/foo", "{}"))).await;
    nothing_was_said(&mut proxy).await;
    proxy.client.send("[]").await;
    assert_eq!(proxy.client.next().await.error_code(), -32600);

    let (_proxy, client) = http_session("2025-03-26").await;
    let reply = client.send(&client.legacy(&mixed_batch())).await;
    assert_eq!(reply.status, 200);
    mixed_answers(&Message::new(reply.text().await));
    let note = client.legacy(&format!("[{}]", message::notification("notifications/foo", "{}")));
    let reply = client.send(&note).await;
    assert_eq!((reply.status, reply.text().await.as_str()), (202, ""));
    let reply = client.send(&client.legacy("[]")).await;
    assert_eq!((reply.status, reply.response().await.error_code()), (400, -32600));
}

#[tokio::test]
async fn a_batch_is_refused_from_every_other_client() {
    let batch = format!("[{}]", message::request("1", "ping", "{}"));
    for version in ["2025-11-25", "2025-06-18", "2024-11-05"] {
        let mut proxy = stdio_session(version).await;
        proxy.client.send(&batch).await;
        assert_eq!(proxy.client.next().await.error_code(), -32600, "{version}");
        let (_proxy, client) = http_session(version).await;
        let reply = client.send(&client.legacy(&batch)).await;
        assert_eq!((reply.status, reply.response().await.error_code()), (400, -32600), "{version}");
    }
    let proxy = in_front_of(&fake_backend(["--era", "legacy"])).http().await;
    let mut request = HttpRequest::modern("1", "tools/list", "{}");
    request.body = request.body.map(|body| [b"[", body.as_slice(), b"]"].concat());
    let reply = proxy.client().send(&request).await;
    assert_eq!((reply.status, reply.response().await.error_code()), (400, -32600));
}

#[tokio::test]
async fn a_batch_in_a_session_that_is_gone_says_so() {
    let (_proxy, client) = http_session("2025-03-26").await;
    client.delete().await;
    let reply = client.send(&client.legacy(&format!("[{}]", message::request("1", "ping", "{}")))).await;
    assert_eq!(reply.status, 404);
}

#[tokio::test]
async fn an_unknown_notification_is_taken_in_silence() {
    let mut proxy = stdio_session("2025-11-25").await;
    proxy.client.notify("notifications/foo", "{}").await;
    proxy.client.notify("tools/list", "{}").await;
    nothing_was_said(&mut proxy).await;

    let (proxy, client) = http_session("2025-11-25").await;
    let note = message::notification("notifications/foo", "{}");
    let modern = HttpRequest::post(note.as_str()).header("MCP-Protocol-Version", "2026-07-28");
    for reply in [client.send(&client.legacy(&note)).await, proxy.client().send(&modern).await] {
        assert_eq!((reply.status, reply.text().await.as_str()), (202, ""));
    }
}
