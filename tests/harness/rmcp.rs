//! rmcp's client and server against each other and against the fake backend, in both eras over both transports.

use rmcp::ClientLifecycleMode;
use serde_json::json;

use crate::support::http_client::HttpClient;
use crate::support::program::Program;
use crate::support::programs::{fake_backend, rmcp_server};
use crate::support::rmcp_client::{RmcpClient, Told, legacy, modern};
use crate::support::stdio_client::StdioClient;

async fn exercise_rmcp_server(client: RmcpClient) {
    assert_eq!(client.tool_names().await, ["echo", "add", "slow", "grow"]);
    let sum = client.call("add", json!({"a": 1, "b": 2})).await;
    assert_eq!(sum.structured_content, Some(json!({"sum": 3.0})));
    client.call("slow", json!({"steps": 1})).await;
    assert!(matches!(client.told().await, Told::Progress(told) if told.progress == 1.0));
    client.finish().await;
}

#[tokio::test]
async fn rmcp_talks_to_rmcp_over_stdio() {
    exercise_rmcp_server(RmcpClient::stdio(rmcp_server([]), legacy()).await).await;
    exercise_rmcp_server(RmcpClient::stdio(rmcp_server([]), modern()).await).await;
}

#[tokio::test]
async fn rmcp_talks_to_rmcp_over_http() {
    let (server, url) = Program::start_server(rmcp_server(["--http", "127.0.0.1:0"])).await;
    exercise_rmcp_server(RmcpClient::http(&url, server.stderr.clone(), legacy()).await).await;
    exercise_rmcp_server(RmcpClient::http(&url, server.stderr.clone(), modern()).await).await;
}

#[tokio::test]
async fn rmcp_accepts_the_fake_backend_in_every_way() {
    let flags = |era: &'static str| ["--only", "echo,progress", "--era", era];
    let exercise = |lifecycle: ClientLifecycleMode, era: &'static str| async move {
        let client = RmcpClient::stdio(fake_backend(flags(era)), lifecycle.clone()).await;
        assert_eq!(client.tool_names().await, ["echo", "progress"]);
        client.finish().await;
        let served = flags(era).into_iter().chain(["--http", "127.0.0.1:0"]);
        let (server, url) = Program::start_server(fake_backend(served)).await;
        let client = RmcpClient::http(&url, server.stderr.clone(), lifecycle).await;
        let echoed = client.call("echo", json!({"a": 1})).await;
        assert_eq!(echoed.structured_content, Some(json!({"a": 1})));
        client.finish().await;
    };
    exercise(legacy(), "legacy").await;
    exercise(modern(), "modern").await;
    exercise(legacy(), "both").await;
    exercise(modern(), "both").await;
}

#[tokio::test]
async fn the_raw_clients_are_accepted_by_rmcp() {
    let mut client = StdioClient::start(rmcp_server([]));
    client.initialize("2025-11-25").await.result();
    client.call("grow", "{}").await.result();
    client.expect_notification("notifications/tools/list_changed").await;
    assert_eq!(client.modern_call("extra", r#"{"a":1}"#).await.structured(), r#"{"a":1}"#);

    let (server, url) = Program::start_server(rmcp_server(["--http", "127.0.0.1:0"])).await;
    let mut client = HttpClient::new(&url, server.stderr.clone());
    assert_eq!(client.modern("tools/list", "{}").await.tool_names().len(), 4);
    client.initialize("2025-06-18").await.result();
    assert_eq!(client.call("echo", r#"{"a":1}"#).await.structured(), r#"{"a":1}"#);
    assert!(client.delete().await < 300);
}

#[tokio::test]
async fn a_legacy_rmcp_server_offers_no_modern_version() {
    let mut client = StdioClient::start(rmcp_server(["--legacy"]));
    assert_eq!(client.modern("server/discover", "{}").await.error_code(), -32022);
}

#[tokio::test]
async fn a_change_reaches_rmcp_clients() {
    let client = RmcpClient::stdio(fake_backend(["--era", "legacy"]), legacy()).await;
    client.call("add_tool", json!({})).await;
    assert!(matches!(client.told().await, Told::ToolsChanged));
    client.finish().await;
}
