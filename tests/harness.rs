//! The fake backend and the raw clients without the proxy. What the fake gets wrong on command, the tests of the proxy
//! show; here is what they rely on without showing it: it passes every byte, it is as strict as the protocol allows, and
//! another implementation understands it.

use rmcp::ClientLifecycleMode;
use serde_json::json;

use crate::support::corpus::{Use, odd_messages};
use crate::support::http_client::HttpClient;
use crate::support::http_request::HttpRequest;
use crate::support::message;
use crate::support::modern::meta_members;
use crate::support::program::Program;
use crate::support::programs::{fake_backend, fake_http_backend, rmcp_server};
use crate::support::rmcp_client::{RmcpClient, legacy, modern};
use crate::support::stdio_client::StdioClient;
use crate::support::temp_dir::TempDir;

/// The fake backend on HTTP, in this era.
async fn start(era: &str, flags: &[&str]) -> (Program, HttpClient) {
    let flags: Vec<&str> = ["--era", era].into_iter().chain(flags.iter().copied()).collect();
    let (program, url) = fake_http_backend(&flags).await;
    let client = HttpClient::new(&url, program.stderr.clone());
    (program, client)
}

async fn code(client: &HttpClient, request: HttpRequest) -> (u16, i64) {
    let reply = client.send(&request).await;
    (reply.status, reply.response().await.error_code())
}

#[tokio::test]
async fn odd_messages_survive_stdio() {
    let mut client = StdioClient::start(fake_backend(["--era", "legacy"]));
    client.initialize("2025-11-25").await;
    let messages = odd_messages();
    assert!(messages.len() >= 40);
    for odd in messages {
        let returned = match odd.kind {
            Use::Result => client.call("raw", &format!(r#"{{"result":{}}}"#, odd.json)).await.result(),
            Use::Arguments => client.call("echo", &odd.json).await.structured(),
        };
        assert_eq!(returned, odd.json, "{}", odd.name);
    }
}

#[tokio::test]
async fn odd_messages_survive_modern_http() {
    let (server, url) = Program::start_server(fake_backend(["--http", "127.0.0.1:0", "--era", "modern"])).await;
    let mut client = HttpClient::new(&url, server.stderr.clone());
    for odd in odd_messages() {
        let returned = match odd.kind {
            Use::Result => client.modern_call("raw", &format!(r#"{{"result":{}}}"#, odd.json)).await.result(),
            Use::Arguments => client.modern_call("echo", &odd.json).await.structured(),
        };
        assert_eq!(returned, odd.json, "{}", odd.name);
    }
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
async fn every_wrong_header_is_noticed() {
    let (_server, client) = start("modern", &[]).await;
    let good = HttpRequest::modern("1", "tools/call", &message::call("echo", "{}"));
    assert_eq!(client.send(&good).await.status, 200);
    assert_eq!(code(&client, good.clone().without("mcp-method")).await, (400, -32020));
    assert_eq!(code(&client, good.clone().with("Mcp-Method", "TOOLS/CALL")).await, (400, -32020));
    assert_eq!(code(&client, good.clone().with("Mcp-Name", "other")).await, (400, -32020));
    assert_eq!(code(&client, good.clone().header("Mcp-Name", "echo")).await, (400, -32020));
    assert_eq!(code(&client, good.clone().with("Mcp-Name", "=?base64?%%%?=")).await, (400, -32020));
    assert_eq!(code(&client, good.clone().without("mcp-protocol-version")).await, (400, -32020));
    let encoded = good.clone().with("Mcp-Name", "=?base64?ZWNobw==?=");
    assert_eq!(client.send(&encoded).await.status, 200);
    let other_version = format!("{{{}}}", meta_members("1900-01-01", "{}"));
    let old = HttpRequest::modern_with_meta("1", "tools/list", "{}", &other_version);
    assert_eq!(code(&client, old.clone()).await, (400, -32020));
    assert_eq!(code(&client, old.with("MCP-Protocol-Version", "1900-01-01")).await, (400, -32022));
    assert_eq!(code(&client, HttpRequest::modern_with_meta("1", "tools/list", "{}", "{}")).await, (400, -32602));
    assert_eq!(code(&client, HttpRequest::modern("1", "ping", "{}")).await, (404, -32601));
}

#[tokio::test]
async fn annotated_arguments_must_be_in_headers() {
    let (_server, client) = start("modern", &[]).await;
    let arguments = r#"{"region":"eu","count":42,"options":{"fast":true}}"#;
    let bare = HttpRequest::modern("1", "tools/call", &message::call("region_tool", arguments));
    assert_eq!(code(&client, bare.clone()).await, (400, -32020));
    let full = bare.header("Mcp-Param-Region", "eu").header("Mcp-Param-Count", "42.0").header("mcp-param-fast", "true");
    let answer = client.send(&full).await.response().await;
    assert!(answer.structured().contains(r#"["mcp-param-region","eu"]"#));
    assert_eq!(code(&client, full.clone().with("Mcp-Param-Region", "us")).await, (400, -32020));
    assert_eq!(code(&client, full.header("Mcp-Param-Region", "eu")).await, (400, -32020));
    let absent = HttpRequest::modern("1", "tools/call", &message::call("region_tool", r#"{"region":null}"#));
    assert_eq!(client.send(&absent).await.status, 200);
    assert_eq!(code(&client, absent.header("Mcp-Param-Region", "")).await, (400, -32020));
}

#[tokio::test]
async fn the_server_insists_on_session_and_version_headers() {
    let (_server, mut client) = start("legacy", &[]).await;
    client.initialize("2025-11-25").await;
    let request = client.legacy(&message::request("1", "ping", "{}"));
    assert_eq!(client.send(&request.clone().without("mcp-session-id")).await.status, 400);
    assert_eq!(client.send(&request.clone().with("Mcp-Session-Id", "other")).await.status, 404);
    assert_eq!(client.send(&request.clone().with("MCP-Protocol-Version", "2025-06-18")).await.status, 400);
    assert_eq!(client.send(&request.clone().with("Accept", "application/json")).await.status, 406);
    assert_eq!(client.send(&request.with("Content-Type", "text/plain")).await.status, 415);
    assert_eq!(client.send(&HttpRequest::bare("PATCH")).await.status, 405);
}

#[tokio::test]
async fn events_are_spelled_in_every_legal_way() {
    for spelling in ["plain", "crlf", "bytes", "noisy"] {
        let (_server, mut client) = start("legacy", &["--sse", spelling, "--session", "off"]).await;
        let answer = client.call("echo", r#"{"text":"日本語"}"#).await;
        assert_eq!(answer.structured(), r#"{"text":"日本語"}"#, "{spelling}");
    }
    let body = message::request("1", "tools/call", &message::call("echo", "{}"));
    let (_server, client) = start("legacy", &["--sse", "cr", "--session", "off"]).await;
    assert!(client.send(&client.legacy(&body)).await.text().await.starts_with("event: message\rdata: {"));
    let (_server, client) = start("legacy", &["--sse", "unterminated", "--session", "off"]).await;
    assert_eq!(client.send(&client.legacy(&body)).await.next_message().await, None);
}
