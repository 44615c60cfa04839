//! The API of the page is the control socket of the proxy, under the policy and the audit log of the proxy.

use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use super::{Console, get, post, read_until, serving, with_token};
use crate::support::config::Config;
use crate::support::http_request::HttpRequest;
use crate::support::patience::within;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;
use crate::support::stdio_client::StdioClient;

#[tokio::test]
async fn calls_and_questions_go_through_and_are_audited() {
    let config = Config::new()
        .server("fake", &fake_backend(["--only", "echo,ask"]))
        .section("audit: { file: audit.jsonl, arguments: none }");
    let proxy = serving(Proxy::new(&config)).await;
    let console = Console::start(&proxy.world).await;
    let token = console.log_in().await;
    let status = console.ask(&with_token(get(), &token), "/api/status").await.json();
    assert_eq!(status["pid"], json!(proxy.client.program.id()));

    let mut events = console.open(&with_token(get(), &token), "/api/events").await;
    let head = read_until(&mut events, "\r\n\r\n").await.to_lowercase();
    assert!(head.contains("text/event-stream") && head.contains("cache-control: no-store\r\n"), "{head}");
    // A number that JavaScript would round.
    let exact = r#"{"kind":"tool","key":"echo","params":{"arguments":{"n":9007199254740993}},"user":{"sub":"ann"}}"#;
    let call = HttpRequest { body: Some(exact.into()), ..with_token(post(&Value::Null), &token) };
    let called = console.ask(&call, "/api/call").await;
    assert!(called.body.contains(r#"data: {"result":{"#) && called.body.contains("9007199254740993"), "{called:?}");
    let event = within("the call", &proxy.client.program.stderr, read_until(&mut events, "\n\n")).await;
    assert!(event.contains(r#""name":"echo""#) && event.contains(r#""user":"ann""#), "{event}");
    assert!(event.contains(r#""source":"console","outcome":"ok""#), "{event}");

    let ask = json!({"kind": "tool", "key": "ask", "params": {"arguments": {"message": "Which?"}},
                     "capabilities": {"elicitation": {"form": {}}}});
    let mut asking = console.open(&with_token(post(&ask), &token), "/api/call").await;
    let mut answered = within("the question", &console.program.stderr, read_until(&mut asking, "answerSeconds")).await;
    let (_, question) = answered.split_once(r#""elicitation":{"id":"#).unwrap_or_else(|| panic!("{answered}"));
    let id = question.split(',').next().unwrap_or_default();
    let answer = with_token(post(&json!({"action": "accept", "content": {"colour": "teal"}})), &token);
    assert_eq!(console.ask(&answer, &format!("/api/elicitations/{id}")).await.status, 200);
    asking.read_to_string(&mut answered).await.expect("it is text");
    assert!(answered.contains(r#"data: {"result":{"#) && answered.contains("teal"), "{answered}");

    let audit = || std::fs::read_to_string(proxy.world.directory.path().join("audit.jsonl")).unwrap_or_default();
    let written = async {
        while audit().matches(r#""source":{"type":"console","value":"uid "#).count() < 2 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    within("two lines of the audit log", &proxy.client.program.stderr, written).await;
}

#[tokio::test]
async fn a_call_ends_with_the_page_that_made_it() {
    let one = json!({"maxConcurrent": 1});
    let config = Config::new().server_with("fake", &fake_backend(["--only", "echo,slow"]), one);
    let proxy = serving(Proxy::new(&config)).await;
    let console = Console::start(&proxy.world).await;
    let token = console.log_in().await;
    let call = |tool: &str, arguments: Value| {
        with_token(post(&json!({"kind": "tool", "key": tool, "params": {"arguments": arguments}})), &token)
    };
    let mut slow = console.open(&call("slow", json!({"ms": 600_000})), "/api/call").await;
    read_until(&mut slow, "\r\n\r\n").await;
    drop(slow);
    let next = console.ask(&call("echo", json!({})), "/api/call").await;
    assert!(next.body.contains(r#"data: {"result":{"#), "{next:?}");
}

#[tokio::test]
async fn a_proxy_that_ends_is_missed_and_its_successor_is_shown() {
    let config = Config::new().server("fake", &fake_backend(["--only", "echo"]));
    let mut proxy = serving(Proxy::new(&config)).await;
    let other = serving(Proxy::new(&config)).await;
    let console = Console::start(&proxy.world).await;
    let token = console.log_in().await;
    let mut events = console.open(&with_token(get(), &token), "/api/events").await;
    read_until(&mut events, "\r\n\r\n").await;
    let pid = proxy.client.program.id();
    proxy.client.program.terminate();
    proxy.client.program.exit().await;
    // The page notices at once.
    let mut rest = String::new();
    within("the end of the events", &console.program.stderr, events.read_to_string(&mut rest)).await.expect("text");
    let missed = console.ask(&with_token(get(), &token), "/api/status").await;
    assert!(missed.status == 502 && missed.error().starts_with(&format!("the proxy (process {pid}) ")), "{missed:?}");
    console.program.stderr.line(&format!("the proxy with process id {pid} has exited")).await;

    proxy.client = StdioClient::start(proxy.world.serve_command());
    proxy.client.initialize("2025-11-25").await.result();
    let again = console.ask(&with_token(get(), &token), "/api/status").await;
    assert_eq!(again.json()["pid"], json!(proxy.client.program.id()), "{again:?}");
    assert_ne!(again.json()["pid"], json!(other.client.program.id()), "a proxy of another folder");
    console
        .program
        .stderr
        .line(&format!("the page now shows the proxy with process id {}", proxy.client.program.id()))
        .await;
}
