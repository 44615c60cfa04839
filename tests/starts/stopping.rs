//! What becomes of requests that are still running when the proxy has to stop.

use std::process::Stdio;

use serde_json::json;

use crate::support::config::Config;
use crate::support::http_request::HttpRequest;
use crate::support::message;
use crate::support::patience::within;
use crate::support::programs::fake_backend;
use crate::support::proxy::{HttpProxy, Proxy};

const STOPPED: &str = "the proxy is stopping; it may have run";

async fn serving(drain_timeout: &str) -> HttpProxy {
    let config = Config::new()
        .server("fake", &fake_backend(["--era", "legacy", "--only", "stall,slow,seen"]))
        .section(&format!("serve: {{drainTimeout: {drain_timeout}}}"));
    let proxy = Proxy::new(&config).http().await;
    proxy.client().modern("tools/list", "{}").await.result();
    proxy
}

#[tokio::test]
async fn open_requests_are_told_that_they_may_have_run() {
    let mut proxy = serving("300ms").await;
    // Given a call of a session, one of a stateless client, and one of a client that takes no events,
    let mut session = proxy.client();
    session.initialize("2025-11-25").await.result();
    let stall = message::call("stall", "{}");
    let mut in_session = session.send(&session.legacy(&message::request("7", "tools/call", &stall))).await;
    let mut stateless = proxy.client().send(&HttpRequest::modern("8", "tools/call", &stall)).await;
    let single = HttpRequest::modern("9", "tools/call", &stall).with("Accept", "application/json");
    let client = proxy.client();
    let single = tokio::spawn(async move { client.send(&single).await.response().await });
    let waiting = async {
        let mut other = proxy.client();
        while other.modern_call("seen", "{}").await.structured().matches("\\\"stall\\\"").count() < 3 {}
    };
    within("three calls", &proxy.program.stderr, waiting).await;
    // when the proxy is told to stop, and its time ends,
    proxy.program.terminate();
    // then each has an answer, and its stream ends.
    for stream in [&mut in_session, &mut stateless] {
        let answer = stream.next_message().await.expect("an answer");
        assert!(answer.raw.contains("-32603") && answer.raw.contains(STOPPED), "{}", answer.raw);
        assert_eq!(stream.next_message().await, None);
    }
    let answer = single.await.expect("it ends");
    assert!(answer.raw.contains("-32603") && answer.raw.contains(STOPPED), "{}", answer.raw);
    assert_eq!(proxy.program.exit().await.code(), Some(0));
}

#[tokio::test]
async fn calls_of_commands_are_finished_too() {
    let mut proxy = serving("30s").await;
    let mut call = proxy.world.command(["call", "slow", "ms=1500"]);
    let call = call.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    let mut client = proxy.client();
    client.modern_call("seen", r#"{"wait_for":"slow"}"#).await.result();
    proxy.program.terminate();
    let call = call.wait_with_output().expect("it ends");
    assert!(call.status.success(), "{}", String::from_utf8_lossy(&call.stderr));
    assert_eq!(proxy.program.exit().await.code(), Some(0));
}

#[tokio::test]
async fn calls_of_commands_are_told_that_they_may_have_run() {
    let mut proxy = serving("300ms").await;
    let mut call = proxy.world.command(["call", "stall"]);
    let call = call.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    let mut client = proxy.client();
    client.modern_call("seen", &json!({"wait_for": "stall"}).to_string()).await.result();
    proxy.program.terminate();
    let call = call.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&call.stderr);
    assert!(!call.status.success() && told.contains(STOPPED), "{told}");
    assert_eq!(proxy.program.exit().await.code(), Some(0));
}
