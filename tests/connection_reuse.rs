//! How many TCP connections the calls to a server over HTTP need.

use crate::support::config::Config;
use crate::support::forwarder::Forwarder;
use crate::support::http_client::HttpClient;
use crate::support::http_request::HttpRequest;
use crate::support::message;
use crate::support::program::Program;
use crate::support::programs::rmcp_server;
use crate::support::proxy::Proxy;

const CALLS: usize = 30;

/// How many connections sequential calls open to rmcp's server, apart from those of the first call.
async fn opened_by_calls(server: &Program, url: &str) -> usize {
    let forwarder = Forwarder::start(url).await;
    let config = Config::new().remote("rmcp", &forwarder.url).section("sessionInit: {preset: passthrough}");
    let proxy = Proxy::new(&config).http().await;
    let mut client = proxy.client();
    client.modern_call("echo", "{}").await.result();
    let before = forwarder.accepted();
    for _ in 0..CALLS {
        client.modern_call("echo", "{}").await.result();
    }
    assert!(before > 0, "the proxy reaches the server through the forwarder: {}", server.stderr.text());
    forwarder.accepted() - before
}

/// The server ends a stream right after its last event, but not necessarily in the same packet: a call that follows at
/// once may find the connection still in use, so that a second one is needed.
const FEW: usize = 2;

#[tokio::test]
async fn calls_answered_by_event_streams_share_a_connection() {
    let (server, url) = Program::start_server(rmcp_server(["--http", "127.0.0.1:0"])).await;
    let direct = HttpClient::new(&url, server.stderr.clone());
    let reply = direct.send(&HttpRequest::modern("1", "tools/call", &message::call("echo", "{}"))).await;
    assert!(reply.is_event_stream(), "rmcp's server answers with event streams");
    let opened = opened_by_calls(&server, &url).await;
    assert!(opened <= FEW, "{CALLS} calls opened {opened} connections");
}

#[tokio::test]
async fn calls_in_a_session_answered_by_event_streams_share_a_connection() {
    let (server, url) = Program::start_server(rmcp_server(["--http", "127.0.0.1:0", "--legacy"])).await;
    let mut direct = HttpClient::new(&url, server.stderr.clone());
    direct.initialize("2025-11-25").await;
    let call = message::request("1", "tools/call", &message::call("echo", "{}"));
    assert!(direct.send(&direct.legacy(&call)).await.is_event_stream(), "rmcp's server answers with event streams");
    let opened = opened_by_calls(&server, &url).await;
    assert!(opened <= FEW, "{CALLS} calls opened {opened} connections");
}
