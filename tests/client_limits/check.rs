//! What commands and metrics tell of it.

use serde_json::json;

use super::{LONG, introduce, server, tool};
use crate::support::config::Config;
use crate::support::proxy::Proxy;
use crate::support::temp_dir::TempDir;

fn config(directory: &TempDir) -> Config {
    let tools = [
        tool(LONG, json!({"type": "object"})),
        tool(
            "tree",
            json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"type": "string"}}}),
        ),
        tool("plain", json!({"type": "object", "properties": {}})),
    ];
    Config::new().server("fake", &server(directory, &tools)).section(super::PASSTHROUGH)
}

#[tokio::test]
async fn check_and_explain_tell_what_is_different_for_a_client() {
    let directory = TempDir::new();
    let proxy = Proxy::new(&config(&directory));
    let listed = proxy.run(["list-tools"]).await;
    assert_eq!(listed.code, 0, "{}", listed.stderr);

    let checked = proxy.run(["check", "--client", "gemini-cli"]).await;
    assert_eq!(checked.code, 0, "{}", checked.stderr);
    assert!(
        checked.stderr.contains("clients of the row `gemini-cli` get `tree` in another form: refs at `/properties/a`"),
        "{}",
        checked.stderr
    );
    assert!(checked.stderr.contains(&format!("get `{LONG}` in another form: ")), "{}", checked.stderr);
    assert!(!checked.stderr.contains("`plain`"), "{}", checked.stderr);
    let all = proxy.run(["check", "--client", "all"]).await;
    assert!(all.stderr.contains("clients of the row `codex`"), "{}", all.stderr);
    let unknown = proxy.run(["check", "--client", "gemni-cli"]).await;
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("did you mean `gemini-cli`?"), "{}", unknown.stderr);

    let explained = proxy.run(["explain", "tree", "--client", "gemini-cli"]).await;
    assert!(explained.stdout.contains("tree for clients of the row gemini-cli"), "{}", explained.stdout);
    assert!(explained.stdout.contains("refs /properties/a: `#/$defs/b` inlined"), "{}", explained.stdout);
    let explained = proxy.run(["explain", LONG, "--client", "claude-code", "--json"]).await;
    let report: serde_json::Value = serde_json::from_str(&explained.stdout).unwrap();
    assert_eq!(report[0]["tool"], LONG);
    assert!(report[0]["shortName"].as_str().unwrap().starts_with("a_very_long"), "{report}");
}

#[tokio::test]
async fn the_log_check_and_explain_tell_what_a_client_does_not_get() {
    // given: a tool whose own name is the short name of another
    let directory = TempDir::new();
    let proxy = Proxy::new(&config(&directory));
    proxy.run(["list-tools"]).await.expect(0);
    let explained = proxy.run(["explain", LONG, "--client", "claude-code", "--json"]).await.expect(0).json();
    let short = explained[0]["shortName"].as_str().expect("a short name").to_owned();
    let other = TempDir::new();
    let tools = [tool(LONG, json!({"type": "object"})), tool(&short, json!({"type": "object"}))];
    let config = Config::new().server("fake", &server(&other, &tools)).section(super::PASSTHROUGH);
    // when
    let mut proxy = Proxy::new(&config).stdio();
    introduce(&mut proxy.client, "claude-code").await;
    let names = proxy.client.tools_until(|names| names.len() > 1).await;
    // then
    assert_eq!(names, [short.as_str(), "seen"]);
    let left_out = format!("`{LONG}` is not listed for clients of the row `claude-code`");
    proxy.client.stderr().line(&left_out).await;
    let checked = proxy.world.run(["check", "--client", "claude-code"]).await.expect(1);
    assert!(checked.stderr.contains(&format!("error: {left_out}")), "{}", checked.stderr);
    let explained = proxy.world.run(["explain", LONG, "--client", "claude-code", "--json"]).await.expect(0).json();
    assert!(explained[0]["leftOut"].as_str().is_some_and(|why| why.contains(&short)), "{explained}");
}

#[tokio::test]
async fn the_log_and_the_status_tell_what_clients_get() {
    let directory = TempDir::new();
    let mut proxy = Proxy::new(&config(&directory)).stdio();
    introduce(&mut proxy.client, "gemini-cli").await;
    proxy.client.tools_until(|names| names.len() > 1).await;
    proxy.client.stderr().line("clients of the row `gemini-cli` get 2 tools in another form").await;
    let status = proxy.world.run(["status"]).await;
    assert!(status.stdout.contains("clients of the row gemini-cli get 2 tools in another form"), "{}", status.stdout);
}
