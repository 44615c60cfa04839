//! Servers that start badly or answer the probe in odd ways.

use crate::support::programs::fake_backend;
use crate::support::stdio_client::StdioClient;
use crate::support::temp_dir::TempDir;

fn start<const N: usize>(flags: [&str; N]) -> StdioClient {
    StdioClient::start(fake_backend(flags))
}

#[tokio::test]
async fn a_legacy_server_refuses_the_probe_with_the_code_asked_for() {
    assert_eq!(start(["--era", "legacy"]).modern("server/discover", "{}").await.error_code(), -32601);
    let mut client = start(["--era", "legacy", "--discover-error", "-32000"]);
    assert_eq!(client.modern("server/discover", "{}").await.error_code(), -32000);
    client.initialize("2025-11-25").await.result();
}

#[tokio::test]
async fn a_server_exits_on_the_probe() {
    let mut client = start(["--era", "legacy", "--exit-on-discover"]);
    client.begin("server/discover", "{}").await;
    assert_eq!(client.program.exit().await.code(), Some(3));
}

#[tokio::test]
async fn a_server_is_silent_on_the_probe_or_always() {
    let mut client = start(["--era", "legacy", "--silent-on-discover"]);
    client.begin("server/discover", "{}").await;
    client.initialize("2025-11-25").await.result();
    assert_eq!(client.unclaimed().count(), 0);
    let mut client = start(["--never-answer", "--stderr", "I will not speak"]);
    client.begin("initialize", "{}").await;
    client.stderr().line("I will not speak").await;
    assert!(client.finish().await.success());
}

#[tokio::test]
async fn only_some_versions_are_offered() {
    let mut client = start(["--only-versions", "2025-11-25,2025-06-18"]);
    let error = client.modern("server/discover", "{}").await;
    assert_eq!(error.error_code(), -32022);
    assert_eq!(error.value()["error"]["data"]["requested"], "2026-07-28");
    assert_eq!(error.value()["error"]["data"]["supported"][0], "2025-11-25");
    let answer = client.initialize("2025-03-26").await;
    assert_eq!(answer.value()["result"]["protocolVersion"], "2025-11-25");
}

#[tokio::test]
async fn a_pinned_version_is_answered_whatever_was_asked() {
    let mut client =
        start(["--era", "legacy", "--version", "2024-11-05", "--name", "old", "--instructions", "be kind"]);
    let answer = client.initialize("2025-11-25").await.value();
    assert_eq!(answer["result"]["protocolVersion"], "2024-11-05");
    assert_eq!(answer["result"]["serverInfo"]["name"], "old");
    assert_eq!(answer["result"]["instructions"], "be kind");
}

#[tokio::test]
async fn a_banner_precedes_the_protocol_and_lines_may_end_in_two_characters() {
    let mut client = start(["--banner", "--crlf", "--start-delay", "50"]);
    assert_eq!(client.next_line().await, b"Fake backend 1.0 - ready to serve\r");
    client.next_line().await;
    client.initialize("2025-11-25").await.result();
}

#[tokio::test]
async fn a_server_exits_immediately() {
    assert_eq!(start(["--exit-immediately", "9"]).program.exit().await.code(), Some(9));
}

#[tokio::test]
async fn a_fleet_changes_its_era_with_every_request() {
    let mut client = start(["--flip-era"]);
    assert_eq!(client.modern("server/discover", "{}").await.error_code(), -32601);
    client.modern("server/discover", "{}").await.result();
    client.initialize("2025-11-25").await.result();
    assert_eq!(client.initialize("2025-11-25").await.error_code(), -32601);
}

#[tokio::test]
async fn a_list_holds_malformed_tools() {
    let mut client = start(["--malformed-tool", "--bad-headers", "--only", "a,b"]);
    client.initialize("2025-11-25").await;
    let names = client.request("tools/list", "{}").await.tool_names();
    assert_eq!(names[..4], ["a", "malformed", "b", "bad_header_number"]);
}

#[tokio::test]
async fn a_server_comes_back_in_another_era() {
    let directory = TempDir::new();
    let era = format!("@{}", directory.write("era", "legacy\n").display());
    assert_eq!(start(["--era", &era]).modern("server/discover", "{}").await.error_code(), -32601);
    directory.write("era", "modern\n");
    start(["--era", &era]).modern("server/discover", "{}").await.result();
}
