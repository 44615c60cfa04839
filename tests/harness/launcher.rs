//! What the proxy is started with. The proxy's own behaviour is the subject of the other tests.

use serde_json::json;

use crate::support::config::Config;
use crate::support::program::is_gone;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

#[test]
fn a_config_holds_servers_with_their_arguments_and_variables() {
    let mut command = fake_backend(["--era", "legacy"]);
    command.env("COLOUR", "teal");
    let config = Config::new()
        .server_with("one", &command, json!({"timeout": "5s"}))
        .server("plain", &fake_backend([]))
        .remote("two", "http://127.0.0.1:1/mcp")
        .remote_with("three", "http://127.0.0.1:2/mcp", json!({"disabled": true}))
        .section("codeMode: { enabled: true }");
    let text = config.text();
    assert!(text.starts_with("mcpServers: {\"one\":{\"command\":"));
    assert!(text.contains(r#""args":["--era","legacy"],"env":{"COLOUR":"teal"},"timeout":"5s""#));
    assert!(text.contains(r#""two":{"url":"http://127.0.0.1:1/mcp"}"#));
    assert!(text.contains(r#""disabled":true"#));
    assert!(text.ends_with("\ncodeMode: { enabled: true }\n"));
}

#[test]
fn the_proxy_runs_in_a_world_of_its_own() {
    let proxy = Proxy::new(&Config::new()).file("policy.star", "").argument("--log").argument("debug");
    let proxy = proxy.environment("TOKEN", "secret");
    let command = proxy.serve_command();
    assert_eq!(command.get_current_dir(), Some(proxy.directory.path()));
    let arguments: Vec<_> = command.get_args().collect();
    assert_eq!(arguments, ["serve", "--config", "proxy.yaml", "--log", "debug"]);
    let home = command.get_envs().find(|(name, _)| *name == "HOME").and_then(|(_, value)| value);
    assert!(home.is_some_and(|home| home.to_string_lossy().starts_with(&*proxy.directory.path().to_string_lossy())));
    assert!(command.get_envs().any(|(name, value)| name == "TOKEN" && value == Some("secret".as_ref())));
    assert!(proxy.directory.path().join("policy.star").exists());
}

/// A script that becomes the fake backend, whatever arguments it gets.
fn stand_in(flags: &str) -> String {
    let program = fake_backend([]);
    format!("exec '{}' {flags}\n", program.get_program().to_string_lossy())
}

#[tokio::test]
async fn a_launched_program_is_spoken_to_on_stdio() {
    let mut proxy = Proxy::new(&Config::new()).stand_in(&stand_in("")).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    let directory = proxy.client.call("cwd", "{}").await.structured();
    let expected = proxy.world.directory.path().canonicalize().unwrap();
    assert!(directory.contains(&*expected.to_string_lossy()));
}

#[tokio::test]
async fn a_launched_program_is_spoken_to_over_http_and_ends_with_the_test() {
    let proxy = Proxy::new(&Config::new()).stand_in(&stand_in("--http 127.0.0.1:0")).http().await;
    let mut client = proxy.client();
    client.modern_call("echo", "{}").await.result();
    assert!(proxy.url.contains(client.host()));
    assert!(proxy.world.directory.path().join("proxy.yaml").exists());
    let (id, log) = (proxy.program.id(), proxy.program.stderr.clone());
    drop(proxy);
    is_gone(id, &log).await;
}
