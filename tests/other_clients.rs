//! Another implementation's client and server with the proxy between them: it accepts only what that one accepts.

use rmcp::ClientLifecycleMode;
use serde_json::json;

use crate::support::config::Config;
use crate::support::program::Program;
use crate::support::programs::rmcp_server;
use crate::support::proxy::Proxy;
use crate::support::rmcp_client::{RmcpClient, Told, legacy, modern};

async fn lists_and_calls(client: RmcpClient) {
    assert_eq!(client.tool_names().await, ["echo", "add", "slow", "grow"]);
    let sum = client.call("add", json!({"a": 1, "b": 2})).await;
    assert_eq!(sum.structured_content, Some(json!({"sum": 3.0})));
    client.call("slow", json!({"steps": 1})).await;
    assert!(matches!(client.told().await, Told::Progress(told) if told.progress == 1.0));
    client.finish().await;
}

async fn in_every_way(config: &Config) {
    let eras: [fn() -> ClientLifecycleMode; 2] = [legacy, modern];
    for era in eras {
        let proxy = Proxy::new(config);
        lists_and_calls(RmcpClient::stdio(proxy.serve_command(), era()).await).await;
        let proxy = Proxy::new(config).http().await;
        lists_and_calls(RmcpClient::http(&proxy.url, proxy.program.stderr.clone(), era()).await).await;
    }
}

const PASSTHROUGH: &str = "sessionInit: {preset: passthrough}";

#[tokio::test]
async fn rmcp_talks_through_the_proxy_to_rmcp_on_a_pipe() {
    in_every_way(&Config::new().server("rmcp", &rmcp_server([])).section(PASSTHROUGH)).await;
    in_every_way(&Config::new().server("rmcp", &rmcp_server(["--legacy"])).section(PASSTHROUGH)).await;
}

#[tokio::test]
async fn rmcp_talks_through_the_proxy_to_rmcp_on_http() {
    let (_server, url) = Program::start_server(rmcp_server(["--http", "127.0.0.1:0"])).await;
    in_every_way(&Config::new().remote("rmcp", &url).section(PASSTHROUGH)).await;
}
