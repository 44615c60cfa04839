//! The fake backend and the raw client over stdio.

use crate::support::message;
use crate::support::modern::{meta_with_progress, with_meta};
use crate::support::program::{is_alive, is_gone};
use crate::support::programs::fake_backend;
use crate::support::stdio_client::StdioClient;
use crate::support::temp_dir::TempDir;

#[tokio::test]
async fn a_legacy_client_initializes_lists_and_calls() {
    let mut client = StdioClient::start(fake_backend(["--era", "legacy"]));
    let answer = client.initialize("2025-06-18").await;
    assert_eq!(answer.value()["result"]["protocolVersion"], "2025-06-18");
    assert!(client.request("tools/list", "{}").await.tool_names().contains(&"echo".to_owned()));
    assert_eq!(client.call("echo", r#"{"b":1.10,"a":[]}"#).await.structured(), r#"{"b":1.10,"a":[]}"#);
    assert!(client.finish().await.success());
}

#[tokio::test]
async fn a_modern_client_discovers_and_calls_without_a_handshake() {
    let mut client = StdioClient::start(fake_backend(["--era", "modern"]));
    let answer = client.modern("server/discover", "{}").await;
    assert_eq!(answer.value()["result"]["supportedVersions"][0], "2026-07-28");
    let echoed = client.modern_call("echo", r#"{"a":1}"#).await;
    assert_eq!(echoed.value()["result"]["resultType"], "complete");
    assert_eq!(client.request("tools/list", "{}").await.error_code(), -32602);
    assert_eq!(client.initialize("2025-11-25").await.error_code(), -32601);
}

#[tokio::test]
async fn both_eras_share_one_pipe() {
    let mut client = StdioClient::start(fake_backend([]));
    client.initialize("2025-11-25").await;
    assert_eq!(client.call("echo", "{}").await.value()["result"].get("resultType"), None);
    assert_eq!(client.modern_call("echo", "{}").await.value()["result"]["resultType"], "complete");
}

#[tokio::test]
async fn params_come_back_verbatim_with_their_meta() {
    let mut client = StdioClient::start(fake_backend([]));
    let params = with_meta(&message::call("params", r#"{"n":1e400}"#), &meta_with_progress("7"));
    assert_eq!(client.request("tools/call", &params).await.structured(), params);
}

#[tokio::test]
async fn progress_precedes_the_answer_and_carries_the_token() {
    let mut client = StdioClient::start(fake_backend([]));
    let params = with_meta(&message::call("progress", r#"{"n":2}"#), &meta_with_progress(r#""t""#));
    let id = client.begin("tools/call", &params).await;
    for step in 1..=2 {
        let progress = client.expect_notification("notifications/progress").await;
        assert_eq!(progress.value()["params"]["progressToken"], "t");
        assert_eq!(progress.value()["params"]["progress"], step);
    }
    client.response(&id).await.result();
    assert_eq!(client.unclaimed().count(), 0);
}

#[tokio::test]
async fn a_cancelled_call_is_never_answered_and_the_cancellation_is_seen() {
    let mut client = StdioClient::start(fake_backend([]));
    let id = client.begin("tools/call", &with_meta(&message::call("stall", "{}"), &meta_with_progress("1"))).await;
    client.notify("notifications/cancelled", &format!(r#"{{"requestId":{id}}}"#)).await;
    let seen = client.modern_call("seen", r#"{"wait_for":"notifications/cancelled"}"#).await;
    assert_eq!(seen.value()["result"]["structuredContent"]["messages"].as_array().map(Vec::len), Some(3));
    assert_eq!(client.unclaimed().count(), 0);
}

#[tokio::test]
async fn groups_of_calls_are_answered_in_reverse() {
    let mut client = StdioClient::start(fake_backend(["--era", "legacy"]));
    client.initialize("2025-11-25").await;
    let mut begun = Vec::new();
    for _ in 0..3 {
        begun.push(client.begin("tools/call", &message::call("reorder", r#"{"n":3}"#)).await);
    }
    for id in begun.iter().rev() {
        assert_eq!(client.next().await.id().as_ref(), Some(id));
    }
}

#[tokio::test]
async fn a_list_spreads_over_pages_one_of_which_has_the_empty_cursor() {
    let mut client = StdioClient::start(fake_backend(["--only", "a,b,c", "--pages", "3"]));
    client.initialize("2025-11-25").await;
    let first = client.request("tools/list", "{}").await;
    assert_eq!((first.tool_names(), &first.value()["result"]["nextCursor"]), (vec!["a".to_owned()], &"".into()));
    let second = client.request("tools/list", r#"{"cursor":""}"#).await;
    assert_eq!(second.value()["result"]["nextCursor"], "page-2");
    let third = client.request("tools/list", r#"{"cursor":"page-2"}"#).await;
    assert_eq!(third.value()["result"].get("nextCursor"), None);
    let mut client = StdioClient::start(fake_backend(["--repeat-cursor"]));
    client.initialize("2025-11-25").await;
    let again = client.request("tools/list", r#"{"cursor":"again"}"#).await;
    assert_eq!(again.value()["result"]["nextCursor"], "again");
}

#[tokio::test]
async fn tools_and_results_from_files_are_served_byte_for_byte() {
    let directory = TempDir::new();
    let tool = r#"{"name": "odd", "x":1.10, "inputSchema":{"type":"object"}}"#;
    let tools = directory.write("tools.json", &format!("[{tool}]"));
    let results = directory.write("results.json", r#"{"odd":{"content":[],"n":1e400}}"#);
    let flags = ["--tools", tools.to_str().unwrap_or_default(), "--results", results.to_str().unwrap_or_default()];
    let mut client = StdioClient::start(fake_backend(flags));
    client.initialize("2025-11-25").await;
    assert_eq!(client.request("tools/list", "{}").await.result(), format!(r#"{{"tools":[{tool}]}}"#));
    assert_eq!(client.call("odd", "{}").await.result(), r#"{"content":[],"n":1e400}"#);
}

#[tokio::test]
async fn an_added_tool_is_announced_in_the_way_of_each_era() {
    let mut client = StdioClient::start(fake_backend(["--only", "add_tool"]));
    client.initialize("2025-11-25").await;
    client.call("add_tool", r#"{"name":"new"}"#).await;
    client.expect_notification("notifications/tools/list_changed").await;
    assert_eq!(client.request("tools/list", "{}").await.tool_names(), ["add_tool", "new"]);

    let mut client = StdioClient::start(fake_backend(["--era", "modern"]));
    let params = with_meta(r#"{"notifications":{"toolsListChanged":true}}"#, &meta_with_progress("1"));
    let id = client.begin("subscriptions/listen", &params).await;
    client.expect_notification("notifications/subscriptions/acknowledged").await;
    client.modern_call("add_tool", "{}").await;
    let changed = client.expect_notification("notifications/tools/list_changed").await;
    assert_eq!(changed.value()["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].to_string(), id);
}

#[tokio::test]
async fn the_server_shows_its_process_and_a_grandchild_can_outlive_it() {
    let mut client = StdioClient::start(fake_backend([]));
    let pid = client.modern_call("pid", "{}").await.value()["result"]["structuredContent"]["pid"].clone();
    assert_eq!(pid, client.program.id());
    assert!(client.modern_call("env", "{}").await.structured().contains("PATH"));
    assert!(client.modern_call("cwd", "{}").await.structured().contains("cwd"));
    let spawned = client.modern_call("spawn_grandchild", "{}").await.value();
    let grandchild = spawned["result"]["structuredContent"]["grandchild"].as_u64();
    let grandchild = grandchild.and_then(|id| u32::try_from(id).ok()).expect("a process id");
    client.finish().await;
    assert!(is_alive(grandchild));
    std::process::Command::new("kill").arg(grandchild.to_string()).status().expect("kill runs");
    is_gone(grandchild, client.stderr()).await;
}

#[tokio::test]
async fn resources_and_prompts_are_there_on_demand() {
    let mut client = StdioClient::start(fake_backend(["--resources", "--prompts"]));
    client.initialize("2025-11-25").await;
    assert!(client.request("resources/list", "{}").await.result().contains("memo://greeting"));
    assert!(client.request("resources/templates/list", "{}").await.result().contains("memo://notes/{name}"));
    assert!(client.request("resources/read", r#"{"uri":"memo://a"}"#).await.result().contains("the text of memo://a"));
    assert_eq!(client.request("resources/read", r#"{"uri":"x:y"}"#).await.error_code(), -32002);
    assert!(client.request("prompts/list", "{}").await.result().contains("greet"));
    let prompt = client.request("prompts/get", r#"{"name":"greet","arguments":{"who":"you"}}"#).await;
    assert!(prompt.result().contains("you"));
}
