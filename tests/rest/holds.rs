//! What keeps a server running: it is counted, not timed. A second server, which nothing holds, is the clock.

use serde_json::{Value, json};

use super::{FORMS, RESTS, Server, rested, session, status};
use crate::support::http_client::HttpClient;
use crate::support::http_request::HttpRequest;
use crate::support::message::{self, Message};
use crate::support::program::is_gone;
use crate::support::proxy::{HttpProxy, Proxy};

const SOON: &str = "300ms";

/// A proxy in front of this server and of the clock, which both rest soon.
async fn beside_a_clock(server: &Server, clock: &Server) -> HttpProxy {
    let soon = json!({"start": "lazy", "idleStop": SOON});
    let config = server.config(soon.clone()).server_with("clock", &clock.command, soon);
    let proxy = Proxy::new(&config).argument("--log=debug");
    server.seen_by(&proxy).await;
    proxy.http().await
}

fn clock() -> Server {
    Server::new(&["--era", "legacy", "--only", "pid"])
}

/// Waits until the clock has come to rest, and says whether the server has.
async fn has_rested(proxy: &HttpProxy, client: &mut HttpClient) -> bool {
    let times = proxy.program.stderr.text().matches(&format!("clock: {RESTS}")).count();
    client.call("pid", "{}").await.result();
    rested(proxy, "clock", times + 1).await;
    proxy.program.stderr.text().contains(&format!("fake: {RESTS}"))
}

#[tokio::test]
async fn a_server_is_stopped_when_its_last_call_has_ended_and_started_by_the_next() {
    let server = Server::new(&["--era", "legacy", "--only", "echo,stall"]);
    let clock = clock();
    let proxy = beside_a_clock(&server, &clock).await;
    let mut client = session(&proxy).await;
    let stall = client.legacy(&message::request("7", "tools/call", &message::call("stall", "{}")));
    let stalling = client.send(&stall).await;
    server.started(1, &proxy).await;
    assert!(!has_rested(&proxy, &mut client).await, "a call runs");
    let process = status(&proxy).await["processes"][0]["pid"].as_u64().expect("a process");
    let cancelled = message::notification("notifications/cancelled", r#"{"requestId":7}"#);
    client.send(&client.legacy(&cancelled)).await;
    rested(&proxy, "fake", 1).await;
    is_gone(u32::try_from(process).expect("an id"), &proxy.program.stderr).await;
    drop(stalling);
    assert_eq!(status(&proxy).await["status"], "resting");
    assert!(client.call("echo", r#"{"a":1}"#).await.structured().contains(r#""a":1"#));
    assert_eq!(server.starts(), 2);
}

#[tokio::test]
async fn a_server_that_is_started_eagerly_rests_as_well() {
    let server = Server::legacy();
    let proxy = Proxy::new(&server.config(json!({"idleStop": SOON}))).argument("--log=debug").http().await;
    rested(&proxy, "fake", 1).await;
    let mut client = session(&proxy).await;
    assert!(client.request("tools/list", "{}").await.tool_names().contains(&"echo".to_owned()));
    assert_eq!(server.starts(), 1);
    client.call("echo", "{}").await.result();
    assert_eq!(server.starts(), 2);
    rested(&proxy, "fake", 2).await;
}

#[tokio::test]
async fn a_question_to_a_person_keeps_the_server() {
    let server = Server::new(&["--era", "legacy", "--only", "ask"]);
    let clock = clock();
    let proxy = beside_a_clock(&server, &clock).await;
    let mut client = proxy.client();
    client.initialize_with("2025-11-25", FORMS).await.result();
    let ask = client.legacy(&message::request("7", "tools/call", &message::call("ask", "{}")));
    let mut stream = client.send(&ask).await;
    let asked = stream.next_message().await.expect("a question");
    let mut other = session(&proxy).await;
    assert!(!has_rested(&proxy, &mut other).await, "a person is asked");
    let answer = message::result(&asked.id().expect("it has an id"), r#"{"action":"decline"}"#);
    client.send(&client.legacy(&answer)).await;
    assert!(stream.next_message().await.expect("an answer").raw.contains("decline"));
    // This client had a connection of its own, beside the one of clients that cannot be asked: both end.
    rested(&proxy, "fake", 1).await;
    assert_eq!(status(&proxy).await["processes"], json!([]));
}

#[tokio::test]
async fn a_subscription_keeps_the_server_in_both_eras() {
    let server = Server::new(&["--era", "legacy", "--resources", "--only", "touch"]);
    let clock = clock();
    let proxy = beside_a_clock(&server, &clock).await;
    let mut client = session(&proxy).await;
    let listed = client.request("resources/list", "{}").await.value();
    let uri = json!({"uri": listed["result"]["resources"][0]["uri"]}).to_string();
    client.request("resources/subscribe", &uri).await.result();
    assert!(!has_rested(&proxy, &mut client).await, "a client is subscribed");
    client.request("resources/unsubscribe", &uri).await.result();
    rested(&proxy, "fake", 1).await;
    // A stateless client listens for as long as it wants to know.
    let uris = json!({"notifications": {"resourceSubscriptions": [listed["result"]["resources"][0]["uri"]]}});
    let mut listening = client.send(&HttpRequest::modern("8", "subscriptions/listen", &uris.to_string())).await;
    listening.next_message().await.expect("the acknowledgment");
    assert_eq!(server.starts(), 2);
    let times = || proxy.program.stderr.text().matches(&format!("fake: {RESTS}")).count();
    has_rested(&proxy, &mut client).await;
    assert_eq!(times(), 1, "a client listens");
    drop(listening);
    rested(&proxy, "fake", 2).await;
}

#[tokio::test]
async fn a_client_that_listens_for_other_lists_keeps_nobody() {
    let server = Server::new(&["--era", "legacy", "--only", "echo"]);
    let clock = clock();
    let proxy = beside_a_clock(&server, &clock).await;
    let mut client = session(&proxy).await;
    let _stream = client.get_stream().await;
    let listen = json!({"notifications": {"toolsListChanged": true}}).to_string();
    let mut listening = proxy.client().send(&HttpRequest::modern("8", "subscriptions/listen", &listen)).await;
    listening.next_message().await.expect("the acknowledgment");
    assert_eq!(server.starts(), 0);
    client.call("echo", "{}").await.result();
    rested(&proxy, "fake", 1).await;
}

fn task_id(answer: &Message) -> Value {
    json!({"taskId": answer.value()["result"]["task"]["taskId"]})
}

#[tokio::test]
async fn a_task_keeps_the_server_until_its_client_has_seen_the_end() {
    let server = Server::new(&["--era", "legacy", "--tasks", "--only", "echo"]);
    let clock = clock();
    let proxy = beside_a_clock(&server, &clock).await;
    let mut client = session(&proxy).await;
    let job = |arguments: Value| json!({"name": "job", "arguments": arguments, "task": {"ttl": 600_000}}).to_string();
    // A task that works, until it is cancelled,
    let held = task_id(&client.request("tools/call", &job(json!({"hold": true}))).await);
    assert!(!has_rested(&proxy, &mut client).await, "a task works");
    client.request("tasks/get", &held.to_string()).await.result();
    client.request("tasks/cancel", &held.to_string()).await.result();
    rested(&proxy, "fake", 1).await;
    // and one that has ended, until its result was fetched.
    let ended = task_id(&client.request("tools/call", &job(json!({}))).await);
    let times = || proxy.program.stderr.text().matches(&format!("fake: {RESTS}")).count();
    has_rested(&proxy, &mut client).await;
    assert_eq!(times(), 1, "the server has its result");
    client.request("tasks/result", &ended.to_string()).await.result();
    rested(&proxy, "fake", 2).await;
}

#[tokio::test]
async fn a_task_of_a_stateless_client_keeps_the_server_as_well() {
    const TASKS: &str = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
    let server = Server::new(&["--era", "modern", "--tasks", "--only", "echo"]);
    let clock = clock();
    let proxy = beside_a_clock(&server, &clock).await;
    let mut client = proxy.client();
    let job = json!({"name": "job", "arguments": {"hold": true}}).to_string();
    let started = client.modern_with("tools/call", &job, TASKS).await.value();
    let held = json!({"taskId": started["result"]["taskId"]}).to_string();
    let mut other = session(&proxy).await;
    assert!(!has_rested(&proxy, &mut other).await, "a task works: {started}");
    client.modern_with("tasks/get", &held, TASKS).await.result();
    client.modern_with("tasks/cancel", &held, TASKS).await.result();
    rested(&proxy, "fake", 1).await;
}

#[tokio::test]
async fn a_server_behind_a_url_is_left_and_met_again() {
    let (program, url) = crate::support::programs::fake_http_backend(&["--era", "legacy", "--only", "echo,seen"]).await;
    let config = crate::support::config::Config::new().remote_with("fake", &url, json!({"idleStop": SOON}));
    let proxy = Proxy::new(&config).argument("--log=debug").http().await;
    let mut client = session(&proxy).await;
    client.call("echo", "{}").await.result();
    rested(&proxy, "fake", 1).await;
    assert_eq!(status(&proxy).await["rest"]["savedBytes"], Value::Null, "it is not a process");
    assert!(client.call("echo", r#"{"a":1}"#).await.structured().contains(r#""a":1"#));
    assert!(proxy.client().modern_call("echo", r#"{"a":2}"#).await.structured().contains(r#""a":2"#));
    drop(program);
}
