//! One proxy in front of real servers of other people, seen by another implementation's client.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::patience::LONG_PATIENCE;
use crate::support::program::Program;
use crate::support::proxy::Proxy;
use crate::support::real_servers;
use crate::support::rmcp_client::{RmcpClient, legacy, modern};
use crate::support::temp_dir::TempDir;

/// A server over HTTP+SSE, called through a proxy that is told nothing but its address, or its transport too.
async fn over_sse((command, url): (Command, String), ready: &str, tool: &str, arguments: &str, answer: &str) {
    let (mut program, _stdin, _stdout) = Program::start(command);
    program.stderr.patience = LONG_PATIENCE;
    program.stderr.line(ready).await;
    for keys in [json!({}), json!({"type": "sse"})] {
        let mut proxy = Proxy::new(&Config::new().remote_with("older", &url, keys)).stdio();
        proxy.client.program.stderr.patience = LONG_PATIENCE;
        proxy.client.initialize("2025-11-25").await.result();
        proxy.client.tools_until(|names| names.iter().any(|name| name == tool)).await;
        for _ in 0..3 {
            assert_eq!(proxy.client.call(tool, arguments).await.text(), answer);
        }
    }
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn real_servers_of_the_first_http_transport_are_recognised_and_called() {
    let directory = TempDir::new();
    let (Some(everything), Some(python)) =
        (real_servers::everything_over_sse(), real_servers::python_over_sse(&directory))
    else {
        return;
    };
    over_sse(everything, "running on port", "echo", r#"{"message":"hello"}"#, "Echo: hello").await;
    over_sse(python, "running on", "shout", r#"{"text":"hello"}"#, "HELLO").await;
}

const TOOLS: [&str; 5] = ["echo", "read_text_file", "create_entities", "get_current_time", "git_log"];

/// All five servers, or nothing where they cannot be installed.
fn config(directory: &TempDir) -> Option<Config> {
    let files = directory.directory("files");
    directory.write("files/note.txt", "written by the test");
    Some(
        Config::new()
            .server("everything", &real_servers::everything()?)
            .server("filesystem", &real_servers::filesystem(&files)?)
            .server("memory", &real_servers::memory(directory.path())?)
            .server("time", &real_servers::time()?)
            .server("git", &real_servers::git(directory)?),
    )
}

async fn text_of(client: &RmcpClient, tool: &str, arguments: Value) -> String {
    let result = client.call(tool, arguments).await;
    assert_ne!(result.is_error, Some(true), "{tool}: {result:?}");
    serde_json::to_string(&result.content).expect("content is JSON")
}

/// Lists everything and calls a tool of each server.
async fn exercise(client: RmcpClient, directory: &TempDir, entity: &str) {
    let names = client.tool_names().await;
    for tool in TOOLS {
        assert!(names.iter().any(|name| name == tool), "{tool} is not among {names:?}");
    }
    assert!(text_of(&client, "echo", json!({"message": "hello"})).await.contains("hello"));
    let note = directory.path().join("files/note.txt");
    assert!(text_of(&client, "read_text_file", json!({"path": note})).await.contains("written by the test"));
    let entities = json!({"entities": [{"name": entity, "entityType": "test", "observations": ["seen"]}]});
    text_of(&client, "create_entities", entities).await;
    assert!(text_of(&client, "read_graph", json!({})).await.contains(entity));
    assert!(text_of(&client, "get_current_time", json!({"timezone": "UTC"})).await.contains("UTC"));
    let repository = directory.path().join("repository");
    assert!(text_of(&client, "git_log", json!({"repo_path": repository})).await.contains("First"));
    client.finish().await;
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn five_real_servers_behind_one_proxy_are_listed_and_called() {
    let directory = TempDir::new();
    let Some(config) = config(&directory) else { return };
    let world = Proxy::new(&config);
    // These servers take seconds to start. A first look waits for them; later starts then list them at once.
    let looked = world.command(["list-tools"]).output().expect("the proxy runs");
    assert!(looked.status.success(), "{}", String::from_utf8_lossy(&looked.stderr));
    for (lifecycle, entity) in [(legacy(), "legacy-stdio"), (modern(), "modern-stdio")] {
        exercise(RmcpClient::stdio(world.serve_command(), lifecycle).await, &directory, entity).await;
    }
    let mut proxy = world.http().await;
    proxy.program.stderr.patience = LONG_PATIENCE;
    for (lifecycle, entity) in [(legacy(), "legacy-http"), (modern(), "modern-http")] {
        let client = RmcpClient::http(&proxy.url, proxy.program.stderr.clone(), lifecycle).await;
        exercise(client, &directory, entity).await;
    }
}
