//! A tool of a real server, found and called by another implementation's client in each era.

use serde_json::json;

use super::OPTIMIZED;
use crate::support::config::Config;
use crate::support::proxy::Proxy;
use crate::support::real_servers;
use crate::support::rmcp_client::{RmcpClient, legacy, modern};
use crate::support::temp_dir::TempDir;

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn a_tool_of_a_real_server_is_found_and_called() {
    let directory = TempDir::new();
    let (Some(time), Some(files)) = (real_servers::time(), real_servers::filesystem(directory.path())) else { return };
    let config = Config::new().server("time", &time).server("files", &files).section(OPTIMIZED);
    let world = Proxy::new(&config);
    // A first look waits for servers that take seconds to start.
    let looked = world.command(["list-tools"]).output().expect("the proxy runs");
    assert!(looked.status.success(), "{}", String::from_utf8_lossy(&looked.stderr));
    for lifecycle in [legacy(), modern()] {
        let client = RmcpClient::stdio(world.serve_command(), lifecycle).await;
        assert_eq!(client.tool_names().await, ["find_tool", "describe_tool", "call_tool"]);
        let found = client.call("find_tool", json!({"tool_description": "the current time in Tokyo"})).await;
        let found = found.structured_content.expect("find_tool answers with data");
        assert_eq!(found["tools"][0]["name"], "get_current_time", "{found}");
        let signature = found["tools"][0]["signature"].as_str().expect("a tool has a signature");
        assert!(signature.starts_with("(timezone: str) -> {timezone: str, datetime: str"), "{found}");
        let described = client.call("describe_tool", json!({"tool_names": ["get_current_time"]})).await;
        let described = described.structured_content.expect("describe_tool answers with data");
        assert_eq!(described["tools"][0]["inputSchema"]["required"], json!(["timezone"]), "{described}");
        let call = json!({"tool_name": "get_current_time", "parameters": {"timezone": "Asia/Tokyo"}});
        let called = client.call("call_tool", call).await;
        let text = serde_json::to_string(&called.content).expect("content is JSON");
        assert!(called.is_error != Some(true) && text.contains("+09:00"), "{text}");
        let wrong = json!({"tool_name": "get_current_time", "parameters": {"timezone": 9}});
        let wrong = client.call("call_tool", wrong).await;
        let told = wrong.structured_content.expect("an explanation has data");
        assert_eq!((wrong.is_error, &told["error"]), (Some(true), &json!("invalid_arguments")), "{told}");
        client.finish().await;
    }
}
