//! Servers that speak the HTTP+SSE transport of 2024-11-05 are like any other.

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::message::{self, Message};
use crate::support::modern::with_meta;
use crate::support::program::Program;
use crate::support::programs::fake_backend;
use crate::support::proxy::{Proxy, StdioProxy};
use crate::support::stdio_client::StdioClient;

async fn server(kind: &str, flags: &[&str]) -> (Program, String) {
    let always = ["--http", "127.0.0.1:0", "--era", "legacy", "--old-sse", kind];
    Program::start_server(fake_backend(always.into_iter().chain(flags.iter().copied()))).await
}

async fn through(url: &str, keys: Value) -> StdioProxy {
    let mut proxy = Proxy::new(&Config::new().remote_with("older", url, keys)).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy.client.tools_until(|names| names.iter().any(|name| name == "echo")).await;
    proxy
}

/// Calls a tool that works.
async fn works(client: &mut StdioClient) {
    assert_eq!(client.call("echo", "{}").await.structured(), "{}");
}

fn failure(answer: &Message) -> String {
    assert_eq!(answer.value()["result"]["isError"], true, "{}", answer.raw);
    answer.text()
}

/// The error of the only server, which has this status, by `proxy list-servers`.
fn error_of(url: &str, keys: Value, status: &str) -> String {
    let config = Config::new().remote_with("older", url, keys);
    let output = Proxy::new(&config).command(["list-servers", "--json"]).output().expect("the proxy runs");
    let servers: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|problem| panic!("{problem}: {}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(servers[0]["status"], status, "{servers}");
    servers[0]["error"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn it_is_recognised_or_asked_for_and_everything_goes_both_ways() {
    for (kind, keys) in [
        ("relative", json!({})),
        ("absolute", json!({})),
        ("any-method", json!({})),
        ("relative", json!({"type": "sse"})),
        ("relative", json!({"transport": "sse", "protocol": "2024-11-05"})),
    ] {
        let (_server, url) = server(kind, &["--sse", "noisy"]).await;
        let mut proxy = through(&url, keys.clone()).await;
        let client = &mut proxy.client;
        assert_eq!(client.call("echo", r#"{"n":1.10}"#).await.structured(), r#"{"n":1.10}"#);
        // The server asks, and the answer is posted.
        let answers = client.call("ping_client", "{}").await.structured();
        assert!(answers.contains(r#""result":{}"#), "{answers}");
        let id = client
            .begin("tools/call", &with_meta(&message::call("progress", r#"{"n":2}"#), r#"{"progressToken":"t"}"#))
            .await;
        for step in [1, 2] {
            let told = client.expect_notification("notifications/progress").await.value();
            assert_eq!((&told["params"]["progress"], &told["params"]["progressToken"]), (&json!(step), &json!("t")));
        }
        assert_eq!(client.response(&id).await.structured(), r#"{"n":2}"#);
        let stalled = client.begin("tools/call", &message::call("stall", "{}")).await;
        client.call("seen", r#"{"wait_for":"\"name\":\"stall\""}"#).await.structured();
        client.notify("notifications/cancelled", &format!(r#"{{"requestId":{stalled}}}"#)).await;
        let seen = client.call("seen", r#"{"wait_for":"notifications/cancelled"}"#).await.structured();
        let posted = if keys["type"].is_null() && keys["transport"].is_null() && kind != "any-method" { 2 } else { 0 };
        assert_eq!(seen.matches("POST refused").count(), posted, "{kind} {keys}: {seen}");
        client.call("add_tool", r#"{"name":"later"}"#).await.result();
        client.tools_until(|names| names.iter().any(|name| name == "later")).await;
    }
}

#[tokio::test]
async fn a_server_that_asks_in_the_middle_of_a_call_hears_the_client() {
    let (_server, url) = server("relative", &[]).await;
    for scope in ["shared", "session"] {
        let config = Config::new().remote_with("older", &url, json!({"scope": scope}));
        let mut proxy = Proxy::new(&config).stdio();
        let client = &mut proxy.client;
        client.initialize_with("2025-11-25", r#"{"elicitation":{}}"#).await.result();
        client.tools_until(|names| names.iter().any(|name| name == "ask")).await;
        let call = client.begin("tools/call", &message::call("ask", r#"{"message":"Which?"}"#)).await;
        let question = client.expect_notification("elicitation/create").await;
        assert_eq!(question.value()["params"]["message"], "Which?");
        let id = question.id().expect("a question has an id");
        client.send(&message::result(&id, r#"{"action":"accept","content":{"colour":"teal"}}"#)).await;
        let answers = client.response(&call).await.structured();
        assert!(answers.contains(r#""content":{"colour":"teal"}"#), "{scope}: {answers}");
    }
}

#[tokio::test]
async fn calls_on_a_stream_that_ends_fail_once_and_the_next_one_opens_another() {
    let (_server, url) = server("relative", &[]).await;
    let mut proxy = through(&url, json!({})).await;
    let client = &mut proxy.client;
    let stalled = client.begin("tools/call", &message::call("stall", "{}")).await;
    client.call("seen", r#"{"wait_for":"\"name\":\"stall\""}"#).await.structured();
    let ending = client.begin("tools/call", &message::call("end_streams", "{}")).await;
    for id in [stalled, ending] {
        let text = failure(&client.response(&id).await);
        assert!(text.contains("`older`") && text.contains("its event stream ended"), "{text}");
    }
    works(client).await;
    let seen = client.call("seen", "{}").await.structured();
    for tool in ["stall", "end_streams"] {
        assert_eq!(seen.matches(&format!(r#"\"name\":\"{tool}\""#)).count(), 1, "{tool} was not repeated: {seen}");
    }
    assert_eq!(seen.matches("GET stream=").count(), 2, "{seen}");
    assert_eq!(seen.matches("POST refused").count(), 2, "what it speaks is remembered: {seen}");
}

#[tokio::test]
async fn a_server_that_dies_and_comes_back_is_used_again() {
    let (old, url) = server("relative", &[]).await;
    let mut proxy = through(&url, json!({})).await;
    let text = failure(&proxy.client.call("crash", "{}").await);
    assert!(text.contains("`older`"), "{text}");
    drop(old);
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
    // By now it speaks the newer transport: what was remembered is found to be wrong.
    for flags in [&["--old-sse", "relative"][..], &[]] {
        let always = ["--http", &address, "--era", "legacy"];
        let command = fake_backend(always.into_iter().chain(flags.iter().copied()));
        let (_server, _) = Program::start_server(command).await;
        let answer = proxy.client.call_until_it_works("echo", "{}").await;
        assert_eq!(answer.structured(), "{}");
    }
}

#[tokio::test]
async fn a_client_does_not_notice_that_a_server_forgot_its_stream() {
    let (_server, url) = server("relative", &["--expire-session-after", "6"]).await;
    let mut proxy = through(&url, json!({})).await;
    for number in 0..12 {
        let arguments = format!(r#"{{"number":{number}}}"#);
        assert_eq!(proxy.client.call("echo", &arguments).await.structured(), arguments);
    }
    let seen = proxy.client.call("seen", "{}").await.structured();
    assert!(seen.matches("GET stream=").count() >= 3, "{seen}");
}

#[tokio::test]
async fn credentials_stay_with_the_server_they_are_for() {
    let (_server, url) = server("elsewhere", &[]).await;
    for keys in [json!({}), json!({"type": "sse"})] {
        let error = error_of(&url, keys, "failed");
        assert!(error.contains("`endpoint`") && error.contains("http://other.example"), "{error}");
        assert!(!error.contains("stream-"), "its address may be a secret: {error}");
    }
    let (_server, url) = server("relative", &["--require-bearer", "secret"]).await;
    assert!(error_of(&url, json!({"type": "sse"}), "login").contains("`proxy login older`"));
    let headers = json!({"type": "sse", "headers": {"Authorization": "Bearer secret"}});
    works(&mut through(&url, headers).await.client).await;
}

#[tokio::test]
async fn a_stream_that_names_no_address_is_reported() {
    let (_server, url) = server("silent", &[]).await;
    for keys in [json!({"probeTimeout": "300ms"}), json!({"probeTimeout": "300ms", "type": "sse"})] {
        let error = error_of(&url, keys, "failed");
        assert!(error.contains("no `endpoint` event"), "{error}");
    }
}

#[tokio::test]
async fn a_newer_server_that_is_called_old_is_reported_with_a_hint() {
    let (_server, url) = Program::start_server(fake_backend(["--http", "127.0.0.1:0", "--no-get"])).await;
    let error = error_of(&url, json!({"type": "sse"}), "failed");
    assert!(error.contains("HTTP 405") && error.contains("remove `type: sse`"), "{error}");
}

#[tokio::test]
async fn an_enormous_answer_fails_its_call_and_no_other() {
    let (_server, url) = server("relative", &[]).await;
    let mut proxy = through(&url, json!({"maxMessageBytes": "1MiB"})).await;
    let other = proxy.client.begin("tools/call", &message::call("seen", r#"{"wait_for":"the end"}"#)).await;
    let text = failure(&proxy.client.call("big", r#"{"n":5000000}"#).await);
    assert!(text.contains("`older`") && text.contains("larger than 1048576 bytes"), "{text}");
    works(&mut proxy.client).await;
    proxy.client.call("echo", r#"{"mark":"the end"}"#).await.structured();
    let seen = proxy.client.response(&other).await.structured();
    assert_eq!(seen.matches("GET stream=").count(), 1, "{seen}");
}
