//! How much a server gets at a time, how long a call may take, and when a server that keeps failing is left alone.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::message::{self, Message};
use crate::support::modern::with_meta;
use crate::support::patience::within;
use crate::support::program::Program;
use crate::support::programs::fake_backend;
use crate::support::proxy::{Proxy, StdioProxy};
use crate::support::stderr_log::StderrLog;
use crate::support::stdio_client::StdioClient;
use crate::support::temp_dir::TempDir;

fn legacy(flags: &[&str]) -> Command {
    fake_backend(["--era", "legacy"].into_iter().chain(flags.iter().copied()))
}

async fn start(config: &Config) -> StdioProxy {
    let mut proxy = Proxy::new(config).argument("--log=debug").stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy.client.tools_until(|names| names.iter().any(|name| name == "echo")).await;
    proxy
}

async fn start_one(keys: Value) -> StdioProxy {
    start(&Config::new().server_with("fake", &legacy(&[]), keys)).await
}

/// A proxy in front of a server that can be asked directly, too.
async fn start_with_window(keys: Value) -> (Program, HttpClient, StdioProxy) {
    let (server, url) = Program::start_server(legacy(&["--http", "127.0.0.1:0"])).await;
    let mut window = HttpClient::new(&url, server.stderr.clone());
    window.initialize("2025-11-25").await.result();
    let proxy = start(&Config::new().remote_with("fake", &url, keys)).await;
    (server, window, proxy)
}

/// Calls a tool that works.
async fn works(client: &mut StdioClient) {
    assert_eq!(client.call("echo", "{}").await.structured(), "{}");
}

fn failure(answer: &Message) -> String {
    assert_eq!(answer.value()["result"]["isError"], true, "{}", answer.raw);
    answer.text()
}

fn echo(mark: &str) -> String {
    message::call("echo", &format!(r#"{{"mark":"{mark}"}}"#))
}

/// Waits until that many calls have had to wait.
async fn queued(log: &StderrLog, count: usize) {
    let enough = async {
        while log.text().matches("call queued").count() < count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    within("a call in the queue", log, enough).await;
}

/// A call that keeps its place, and reports progress all the while.
async fn occupy(proxy: &mut StdioProxy, window: &mut HttpClient) -> String {
    let long = message::call("progress", r#"{"n":1000,"ms":100}"#);
    let id = proxy.client.begin("tools/call", &with_meta(&long, r#"{"progressToken":"t"}"#)).await;
    window.call("seen", r#"{"wait_for":"\"name\":\"progress\""}"#).await.structured();
    id
}

async fn cancel(proxy: &mut StdioProxy, id: &str) {
    proxy.client.notify("notifications/cancelled", &format!(r#"{{"requestId":{id}}}"#)).await;
}

#[tokio::test]
async fn more_calls_than_allowed_wait_in_order_and_whoever_leaves_is_not_sent() {
    let (_server, mut window, mut proxy) = start_with_window(json!({"maxConcurrent": 1})).await;
    let running = occupy(&mut proxy, &mut window).await;
    let mut ids = Vec::new();
    for (count, mark) in ["one", "left", "two", "three"].into_iter().enumerate() {
        ids.push(proxy.client.begin("tools/call", &echo(mark)).await);
        queued(proxy.client.stderr(), count + 1).await;
    }
    cancel(&mut proxy, &ids.remove(1)).await;
    let seen = window.call("seen", "{}").await.structured();
    assert!(!seen.contains(r#"\"mark\""#), "{seen}");
    cancel(&mut proxy, &running).await;
    for id in ids {
        proxy.client.response(&id).await.structured();
    }
    let seen = window.call("seen", "{}").await.structured();
    let at = |mark: &str| seen.find(&format!(r#"\"mark\":\"{mark}\""#));
    assert!(at("one").is_some() && at("one") < at("two") && at("two") < at("three"), "{seen}");
    assert_eq!(at("left"), None, "{seen}");
}

#[tokio::test]
async fn as_many_calls_as_allowed_go_on_at_a_time() {
    let mut proxy = start_one(json!({"maxConcurrent": 3})).await;
    let mut ids = Vec::new();
    for number in 0..9 {
        let arguments = format!(r#"{{"n":3,"number":{number}}}"#);
        ids.push(proxy.client.begin("tools/call", &message::call("reorder", &arguments)).await);
    }
    // Each needs two others beside it to be answered.
    for id in ids {
        assert!(proxy.client.response(&id).await.structured().contains("number"));
    }
}

#[tokio::test]
async fn waiting_for_a_turn_does_not_count() {
    let (_server, mut window, mut proxy) = start_with_window(json!({"maxConcurrent": 1, "timeout": "1s"})).await;
    let long = with_meta(&message::call("progress", r#"{"n":20,"ms":100}"#), r#"{"progressToken":"t"}"#);
    let running = proxy.client.begin("tools/call", &long).await;
    window.call("seen", r#"{"wait_for":"\"name\":\"progress\""}"#).await.structured();
    assert!(proxy.client.request("tools/call", &echo("late")).await.structured().contains("late"));
    proxy.client.response(&running).await.result();
}

#[tokio::test]
async fn waiting_for_a_turn_has_an_end_and_the_error_says_so() {
    let keys = json!({"maxConcurrent": 1, "timeout": "2500ms", "maxTimeout": "3s"});
    let (_server, mut window, mut proxy) = start_with_window(keys).await;
    let running = occupy(&mut proxy, &mut window).await;
    // The next one is given the place after a while, and keeps it for longer than the last one may wait.
    for _ in 0..3 {
        proxy.client.expect_notification("notifications/progress").await;
    }
    let next = proxy.client.begin("tools/call", &message::call("stall", "{}")).await;
    let last = proxy.client.begin("tools/call", &echo("last")).await;
    let text = failure(&proxy.client.response(&running).await);
    assert!(text.contains("did not respond within 3") && text.contains("`mcpServers.fake.maxTimeout`"), "{text}");
    let text = failure(&proxy.client.response(&last).await);
    assert!(text.contains("`fake` is busy") && text.contains("was queued for"), "{text}");
    assert!(text.contains("was not sent") && text.contains("`maxConcurrent: 1`"), "{text}");
    let text = failure(&proxy.client.response(&next).await);
    assert!(text.contains("did not respond within 2.5") && text.contains("`mcpServers.fake.timeout`"), "{text}");
    assert!(!window.call("seen", "{}").await.structured().contains(r#"\"mark\""#));
    works(&mut proxy.client).await;
}

#[tokio::test]
async fn progress_keeps_a_call_alive_up_to_a_limit() {
    let http = Program::start_server(legacy(&["--http", "127.0.0.1:0"])).await;
    let modern = Program::start_server(fake_backend(["--era", "modern", "--http", "127.0.0.1:0"])).await;
    let older = Program::start_server(legacy(&["--http", "127.0.0.1:0", "--old-sse", "relative"])).await;
    let keys = json!({"timeout": "1s", "maxTimeout": "3s"});
    let configs = [
        Config::new().server_with("fake", &legacy(&[]), keys.clone()),
        Config::new().remote_with("fake", &http.1, keys.clone()),
        Config::new().remote_with("fake", &modern.1, keys.clone()),
        Config::new().remote_with("fake", &older.1, keys),
    ];
    let with_progress = |arguments: &str| with_meta(&message::call("progress", arguments), r#"{"progressToken":"t"}"#);
    for config in configs {
        let mut proxy = start(&config).await;
        let alive = proxy.client.begin("tools/call", &with_progress(r#"{"n":6,"ms":300}"#)).await;
        let silent = proxy.client.begin("tools/call", &message::call("stall", "{}")).await;
        let text = failure(&proxy.client.response(&silent).await);
        assert!(text.contains("`fake` did not respond within 1"), "{text}");
        assert_eq!(proxy.client.response(&alive).await.structured(), r#"{"n":6,"ms":300}"#);
        let endless = proxy.client.request("tools/call", &with_progress(r#"{"n":1000,"ms":100}"#)).await;
        let text = failure(&endless);
        assert!(text.contains("`fake` did not respond within 3"), "{text}");
    }
}

fn breaker(failures: u32, cooldown: &str) -> Value {
    json!({"timeout": "500ms", "circuitBreaker": {"failures": failures, "cooldown": cooldown}})
}

#[tokio::test]
async fn a_server_that_keeps_failing_is_left_alone_and_then_tried_again() {
    let mut proxy = start_one(breaker(2, "3s")).await;
    let client = &mut proxy.client;
    // Errors of its own are answers.
    for (tool, arguments) in [("stall", "{}"), ("rpc_error", "{}"), ("stall", "{}"), ("fail", "{}"), ("stall", "{}")] {
        client.call(tool, arguments).await;
    }
    works(client).await;
    for _ in 0..2 {
        assert!(failure(&client.call("stall", "{}").await).contains("did not respond"));
    }
    let text = failure(&client.call("echo", "{}").await);
    assert!(text.contains("`fake` is temporarily disabled after 2 consecutive failures"), "{text}");
    assert!(text.contains("no response within") && text.contains("next attempt in"), "{text}");
    assert_eq!(client.call_until_it_works("echo", "{}").await.structured(), "{}");
    assert!(failure(&client.call("stall", "{}").await).contains("did not respond"), "counted anew");
    works(client).await;
}

#[tokio::test]
async fn one_death_is_one_failure_whatever_it_takes_along() {
    let mut proxy = start_one(json!({"circuitBreaker": {"failures": 2, "cooldown": "10m"}})).await;
    let client = &mut proxy.client;
    let mut lost = Vec::new();
    for number in 0..10 {
        let arguments = format!(r#"{{"mark":"call {number}"}}"#);
        lost.push(client.begin("tools/call", &message::call("stall", &arguments)).await);
        client.call("seen", &format!(r#"{{"wait_for":"call {number}"}}"#)).await.structured();
    }
    lost.push(client.begin("tools/call", &message::call("crash", "{}")).await);
    for id in lost {
        failure(&client.response(&id).await);
    }
    works(client).await;
    // But one that dies of every call is left alone, though it comes up again each time.
    for _ in 0..2 {
        assert!(failure(&client.call("crash", "{}").await).contains("exit status"));
    }
    let text = failure(&client.call("echo", "{}").await);
    assert!(text.contains("is temporarily disabled") && text.contains("exit status"), "{text}");
    let status = proxy.world.run(["status"]).await.expect(0);
    assert!(status.stdout.contains("fake: calls are refused after repeated failures"), "{}", status.stdout);
}

#[tokio::test]
async fn a_server_that_could_not_be_started_is_called_as_soon_as_it_can() {
    let directory = TempDir::new();
    let era = format!("@{}", directory.write("era", "legacy").display());
    let keys = json!({"circuitBreaker": {"failures": 2, "cooldown": "10m"}});
    let mut proxy = start(&Config::new().server_with("fake", &fake_backend(["--era", &era]), keys)).await;
    directory.write("era", "broken");
    failure(&proxy.client.call("crash", "{}").await);
    let refused = loop {
        let text = failure(&proxy.client.call("echo", "{}").await);
        if text.contains("is temporarily disabled") {
            break text;
        }
    };
    assert!(refused.contains("exit status: 2"), "{refused}");
    directory.write("era", "legacy");
    let answer = proxy.client.call_until_it_works("echo", "{}").await;
    assert_eq!(answer.structured(), "{}");
}

#[tokio::test]
async fn a_caller_that_is_turned_away_is_no_failure_of_the_server() {
    let keys = json!({"scope": "session", "circuitBreaker": {"failures": 1, "cooldown": "10m"}});
    let proxy = Proxy::new(&Config::new().server_with("fake", &legacy(&[]), keys)).http().await;
    let mut client = proxy.client();
    client.initialize("2025-11-25").await.result();
    for _ in 0..2 {
        let text = client.modern_call("echo", "{}").await.text();
        assert!(text.contains("this client is unknown"), "{text}");
    }
    assert_eq!(client.call("echo", "{}").await.structured(), "{}");
}

#[tokio::test]
async fn a_call_waits_no_longer_than_its_timeout_for_a_connection_that_others_open() {
    let directory = TempDir::new();
    let server = legacy(&[]);
    let mut sometimes_slow = Command::new("sh");
    let line = "cd \"$1\"; shift; if [ -e slow ]; then : > opening; sleep 3600; fi; exec \"$0\" \"$@\"";
    sometimes_slow.args(["-c", line]).arg(server.get_program()).arg(directory.path()).args(server.get_args());
    let limits = json!({"timeout": "4s", "startTimeout": "60s"});
    let config = Config::new().server_with("fake", &sometimes_slow, limits);
    let proxy = Proxy::new(&config.section("auth: {tokens: [{token: s3cret-of-the-visitor, sub: ann}]}")).http().await;
    let client = |capabilities: &'static str| {
        let mut client = proxy.client().with_header("Authorization", "Bearer s3cret-of-the-visitor");
        async move {
            client.initialize_with("2025-11-25", capabilities).await.result();
            client
        }
    };
    // One person has two connections beside the main one: this is in use, and the next is being opened.
    let mut first = client(r#"{"elicitation":{"form":{}}}"#).await;
    let begin = |tool, mark| message::request("9", "tools/call", &message::call(tool, mark));
    let _held = first.send_and_leave_open(&first.legacy(&begin("stall", r#"{"mark":"held"}"#))).await;
    first.call("seen", r#"{"wait_for":"held"}"#).await.result();
    directory.write("slow", "");
    let second = client(r#"{"sampling":{}}"#).await;
    let _opening = second.send_and_leave_open(&second.legacy(&begin("echo", "{}"))).await;
    directory.appearing("opening", &proxy.program.stderr).await;
    let mut third = client(r#"{"sampling":{"tools":{}}}"#).await;
    let answer = third.call("echo", "{}").await;
    assert!(failure(&answer).contains("still starting"), "{}", answer.raw);
}
