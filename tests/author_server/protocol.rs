//! The server as a client sees it: both eras, cancelled calls, and clients that leave.

use std::time::Instant;

use serde_json::json;

use super::{Author, copies_of, world};
use crate::support::message;
use crate::support::patience::LONG_PATIENCE;
use crate::support::program::is_gone;
use crate::support::stdio_client::StdioClient;

/// Tests that compute for minutes.
fn endless() -> String {
    let test =
        |number: usize| format!("def test_{number}():\n    for i in range(1000):\n        [x for x in range(90000)]\n");
    (0..500).map(test).collect()
}

const TOOLS: [&str; 8] = ["catalog", "reference", "check", "test", "explain", "backtest", "diff", "save"];

#[tokio::test]
async fn both_eras_are_spoken() {
    let world = world().await;
    let mut modern = StdioClient::start(world.command(["author"]));
    assert_eq!(modern.modern("tools/list", "{}").await.tool_names(), TOOLS);
    let answer = modern.modern_call("reference", r#"{"name":"publish"}"#).await;
    assert!(answer.text().contains("publish("), "{}", answer.raw);
    let mut older = StdioClient::start(world.command(["author"]));
    let hello = older.initialize("2025-06-18").await.value();
    assert!(hello["result"]["instructions"].as_str().unwrap().contains("`proxy.yaml`"), "{hello:#}");
    assert_eq!(older.request("tools/list", "{}").await.tool_names(), TOOLS);
}

#[tokio::test]
async fn wrong_calls_are_told_what_is_wrong() {
    let mut author = Author::start(world().await).await;
    assert_eq!(author.call("run", json!({})).await.error_code(), -32602);
    for (tool, arguments, told) in [
        ("save", json!({"path": "a.star"}), "missing field `text`"),
        ("check", json!({"file": {}}), "unknown field `file`"),
        ("check", json!({"files": {"../a.star": ""}}), "is not below the folder"),
        ("check", json!({"files": {"proxy.yaml": ""}}), "does not end in `.star`"),
        ("diff", json!({"files": {}}), "has no draft"),
        ("test", json!({}), "no `*_test.star` file"),
        ("test", json!({"paths": ["--junit.star"]}), "does not exist"),
    ] {
        let refused = author.failure(tool, arguments).await;
        assert!(refused.contains(told), "{tool}: {refused}");
    }
}

/// The child processes of a process.
fn children(of: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").expect("there is /proc").flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_child = |id: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        after_name.split(' ').nth(1) == Some(&of.to_string())
    };
    ids.filter(is_child).collect()
}

/// Begins the endless test, and returns the request and its process.
async fn begun(author: &mut Author) -> (String, u32) {
    let arguments = json!({"files": {"a_test.star": endless()}}).to_string();
    let id = author.client.begin("tools/call", &message::call("test", &arguments)).await;
    let deadline = Instant::now() + LONG_PATIENCE;
    loop {
        if let Some(child) = children(author.client.program.id()).first() {
            return (id, *child);
        }
        assert!(Instant::now() < deadline, "the call has no process\n{}", author.client.stderr().text());
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_cancelled_call_ends_its_process() {
    let mut author = Author::start(world().await).await;
    let (id, child) = begun(&mut author).await;
    author.client.notify("notifications/cancelled", &format!(r#"{{"requestId":{id}}}"#)).await;
    is_gone(child, author.client.stderr()).await;
    author.tested("def test_it():\n    pass\n").await;
    assert_eq!(copies_of(author.client.program.id()), Vec::<String>::new());
}

#[tokio::test]
async fn nothing_is_left_when_the_client_goes() {
    let mut author = Author::start(world().await).await;
    let (_, child) = begun(&mut author).await;
    let log = author.client.stderr().clone();
    let process = author.client.program.id();
    author.client.finish().await;
    is_gone(child, &log).await;
    assert_eq!(copies_of(process), Vec::<String>::new());
}

#[tokio::test]
async fn nothing_runs_on_when_the_server_is_killed() {
    let mut author = Author::start(world().await).await;
    let (_, child) = begun(&mut author).await;
    let process = author.client.program.id();
    author.client.program.kill();
    is_gone(child, author.client.stderr()).await;
    author.client.program.exit().await;
    // What it could not delete, the next one does.
    let mut next = StdioClient::start(author.world.command(["author"]));
    next.initialize("2025-11-25").await.result();
    assert_eq!(copies_of(process), Vec::<String>::new());
}
