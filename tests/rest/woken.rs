//! What wakes a server, and how the first calls fare.

use std::time::Duration;

use serde_json::json;

use super::{FORMS, Server, lazy, rested, session, status};
use crate::support::http_request::HttpRequest;
use crate::support::message;

#[tokio::test]
async fn fifty_first_calls_cause_one_start() {
    let server = Server::legacy();
    let proxy = server.known(json!({"start": "lazy", "maxConcurrent": 5})).await.http().await;
    let client = session(&proxy).await;
    server.put("gate");
    let call = |number: usize| {
        let text = message::call("echo", &format!(r#"{{"n":{number}}}"#));
        let client = client.moved_to(&proxy.url, &proxy.program.stderr);
        let request = match number % 2 {
            0 => client.legacy(&message::request(&number.to_string(), "tools/call", &text)),
            _ => HttpRequest::modern(&number.to_string(), "tools/call", &text),
        };
        tokio::spawn(async move { client.send(&request).await.response().await.structured() })
    };
    let calls: Vec<_> = (0..50).map(call).collect();
    server.started(1, &proxy).await;
    assert_eq!(status(&proxy).await["status"], "starting");
    server.remove("gate");
    for (number, call) in calls.into_iter().enumerate() {
        assert!(call.await.expect("it ends").contains(&format!(r#""n":{number}"#)));
    }
    // Whether it speaks the other era is found out beside that.
    assert_eq!(proxy.program.stderr.text().matches("fake: up in").count(), 1);
}

#[tokio::test]
async fn the_timeout_of_a_call_begins_when_the_server_is_up() {
    let server = Server::legacy();
    let more = json!({"start": "lazy", "timeout": "2s", "maxTimeout": "2s"});
    let proxy = server.known(more).await.http().await;
    let mut client = session(&proxy).await;
    server.put("gate");
    let (waiting, gate) = tokio::join!(client.call("echo", r#"{"a":1}"#), async {
        server.started(1, &proxy).await;
        tokio::time::sleep(Duration::from_secs(3)).await;
        server.remove("gate");
    });
    let () = gate;
    assert!(waiting.structured().contains(r#""a":1"#), "{}", waiting.raw);
    // From then on it is as always.
    assert!(client.call("stall", "{}").await.text().contains("server `fake` did not respond within 2"));
}

#[tokio::test]
async fn completion_and_subscription_wake_and_a_notification_does_not() {
    let server = Server::new(&["--era", "legacy", "--resources", "--prompts", "--completions", "3"]);
    let proxy = server.known(json!({"start": "lazy", "idleStop": "300ms"})).await.http().await;
    let mut client = session(&proxy).await;
    client.send(&client.legacy(&message::notification("notifications/roots/list_changed", "{}"))).await;
    let listed = client.request("prompts/list", "{}").await.value();
    let prompt = listed["result"]["prompts"][0]["name"].clone();
    assert_eq!(server.starts(), 0);
    let reference = json!({"ref": {"type": "ref/prompt", "name": prompt}, "argument": {"name": "topic", "value": ""}});
    client.request("completion/complete", &reference.to_string()).await.result();
    assert_eq!(server.starts(), 1);
    rested(&proxy, "fake", 1).await;
    let uri = client.request("resources/list", "{}").await.value()["result"]["resources"][0]["uri"].clone();
    client.request("resources/subscribe", &json!({ "uri": uri }).to_string()).await.result();
    assert_eq!(server.starts(), 2);
}

#[tokio::test]
async fn the_first_call_is_answered_before_the_list() {
    // Given a server that does not list its tools for now,
    let folder = crate::support::temp_dir::TempDir::new();
    let faults = folder.path().join("faults");
    let server = Server::new(&["--era", "legacy", "--faults", &faults.display().to_string()]);
    let proxy = server.known(lazy()).await.http().await;
    let mut client = session(&proxy).await;
    folder.write("faults", "ignore tools/list\n");
    // when it is woken by a call, then that call has its answer, and the tools stay listed.
    assert!(client.call("echo", r#"{"a":1}"#).await.structured().contains(r#""a":1"#));
    assert!(client.request("tools/list", "{}").await.tool_names().contains(&"echo".to_owned()));
}

#[tokio::test]
async fn a_server_may_list_other_tools_when_it_runs_again() {
    let folder = crate::support::temp_dir::TempDir::new();
    let tools = |name: &str| json!({"tools": [{"name": name, "inputSchema": {"type": "object"}}]}).to_string();
    let live = folder.write("live.json", &tools("before"));
    let server = Server::new(&["--era", "legacy", "--only", "echo,slow", "--live", &live.display().to_string()]);
    let proxy = server.known(lazy()).await.http().await;
    let mut client = session(&proxy).await;
    assert!(client.request("tools/list", "{}").await.tool_names().contains(&"before".to_owned()));
    let mut stream = client.get_stream().await;
    folder.write("live.json", &tools("after"));
    // The call that wakes it keeps the surface that it came from.
    assert!(client.call("echo", r#"{"a":1}"#).await.structured().contains(r#""a":1"#));
    let told = stream.next_message().await.expect("a notification");
    assert_eq!(told.method().as_deref(), Some("notifications/tools/list_changed"), "{}", told.raw);
    assert!(client.request("tools/list", "{}").await.tool_names().contains(&"after".to_owned()));
}

#[tokio::test]
async fn a_server_that_asks_as_soon_as_it_runs_is_answered() {
    let server = Server::new(&["--era", "legacy", "--asks-roots"]);
    let mut proxy = server.known(lazy()).await.stdio();
    proxy.client.initialize_with("2025-11-25", r#"{"roots":{"listChanged":true}}"#).await.result();
    proxy.client.request("tools/list", "{}").await.result();
    assert_eq!(server.starts(), 0);
    let id = proxy.client.begin("tools/call", &message::call("echo", r#"{"a":1}"#)).await;
    let asked = proxy.client.next().await;
    assert_eq!(asked.method().as_deref(), Some("roots/list"), "{}", asked.raw);
    let answer = message::result(&asked.id().expect("a question"), r#"{"roots":[{"uri":"file:///x"}]}"#);
    proxy.client.send(&answer).await;
    assert!(proxy.client.response(&id).await.structured().contains(r#""a":1"#));
}

#[tokio::test]
async fn a_client_that_can_be_asked_is_asked_by_the_server_that_it_woke() {
    let server = Server::legacy();
    let mut proxy = server.known(lazy()).await.stdio();
    proxy.client.initialize_with("2025-11-25", FORMS).await.result();
    proxy.client.request("tools/list", "{}").await.result();
    let id = proxy.client.begin("tools/call", &message::call("ask", "{}")).await;
    let asked = proxy.client.next().await;
    assert_eq!(asked.method().as_deref(), Some("elicitation/create"), "{}", asked.raw);
    proxy.client.send(&message::result(&asked.id().expect("a question"), r#"{"action":"decline"}"#)).await;
    assert!(proxy.client.response(&id).await.raw.contains("decline"));
    assert_eq!(server.starts(), 1);
}

#[tokio::test]
async fn a_restart_starts_a_server_that_rests() {
    let server = Server::legacy();
    let proxy = server.known(lazy()).await.http().await;
    session(&proxy).await.request("tools/list", "{}").await.result();
    proxy.world.run(["restart", "fake"]).await.expect(0);
    assert_eq!((server.starts(), status(&proxy).await["status"].clone()), (1, json!("ready")));
}
