//! The real servers start and list their tools. Elsewhere than in continuous integration they may be missing.

use std::process::Command;

use crate::support::http_client::HttpClient;
use crate::support::patience::LONG_PATIENCE;
use crate::support::program::Program;
use crate::support::real_servers;
use crate::support::rmcp_client::{RmcpClient, legacy};
use crate::support::stdio_client::StdioClient;
use crate::support::temp_dir::TempDir;

async fn lists(command: Option<Command>, tool: &str) {
    let Some(command) = command else { return };
    let mut client = StdioClient::start(command).patiently();
    client.initialize("2025-11-25").await.result();
    let names = client.request("tools/list", "{}").await.tool_names();
    assert!(names.iter().any(|name| name == tool), "{tool} is not among {names:?}");
}

#[tokio::test]
async fn everything() {
    lists(real_servers::everything(), "echo").await;
}

#[tokio::test]
async fn filesystem() {
    let directory = TempDir::new();
    lists(real_servers::filesystem(directory.path()), "read_text_file").await;
}

#[tokio::test]
async fn memory() {
    let directory = TempDir::new();
    lists(real_servers::memory(directory.path()), "read_graph").await;
}

#[tokio::test]
async fn time() {
    lists(real_servers::time(), "get_current_time").await;
}

#[tokio::test]
async fn git() {
    let directory = TempDir::new();
    lists(real_servers::git(&directory), "git_log").await;
}

#[tokio::test]
async fn rmcp_understands_a_real_server() {
    let Some(command) = real_servers::time() else { return };
    let client = RmcpClient::stdio(command, legacy()).await;
    assert_eq!(client.tool_names().await, ["get_current_time", "convert_time"]);
    client.finish().await;
}

/// The Python servers speak both eras, the others only the older one.
#[tokio::test]
async fn a_real_server_speaks_the_modern_era() {
    let Some(command) = real_servers::time() else { return };
    let mut client = StdioClient::start(command).patiently();
    client.modern("server/discover", "{}").await.result();
    assert_eq!(client.modern("tools/list", "{}").await.tool_names(), ["get_current_time", "convert_time"]);
}

#[tokio::test]
async fn everything_over_http() {
    let Some((command, url)) = real_servers::everything_over_http() else { return };
    let (mut program, _stdin, _stdout) = Program::start(command);
    program.stderr.patience = LONG_PATIENCE;
    program.stderr.line("listening on port").await;
    let mut client = HttpClient::new(&url, program.stderr.clone());
    client.initialize("2025-11-25").await.result();
    assert!(client.request("tools/list", "{}").await.tool_names().contains(&"echo".to_owned()));
}
