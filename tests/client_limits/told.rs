//! What operators are told of clients that get another list: the log, the metrics, the status.

use serde_json::{Value, json};

use super::{LONG, PASSTHROUGH, server, tool};
use crate::support::config::Config;
use crate::support::message::Message;
use crate::support::proxy::{HttpProxy, Proxy};
use crate::support::temp_dir::TempDir;

const TOKENS: &str = "auth: {tokens: [{token: secret-token-of-a, sub: ann}, {token: secret-token-of-b, sub: bob}]}";

const METRICS: &str = "telemetry: {metrics: '127.0.0.1:0'}";

async fn metrics(proxy: &HttpProxy) -> String {
    let line = proxy.program.stderr.line("metrics on ").await;
    let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next()).expect("an address");
    let answer = reqwest::get(format!("http://{address}/metrics")).await.expect("the port answers");
    answer.text().await.expect("it is text")
}

/// The list that a client of this name gets, as the person with the token.
async fn listed_by(proxy: &HttpProxy, token: &str, name: &str) -> Message {
    let mut client = proxy.client();
    if !token.is_empty() {
        client = client.with_header("Authorization", &format!("Bearer {token}"));
    }
    client.initialize_as("2025-11-25", name).await.result();
    client.request("tools/list", "{}").await
}

fn tools(count: usize) -> Vec<Value> {
    (0..count).map(|n| tool(&format!("tool_{n}"), json!({"type": "object"}))).collect()
}

#[tokio::test]
async fn tools_in_another_form_are_counted_for_each_row() {
    let directory = TempDir::new();
    let long = tool(LONG, json!({"type": "object", "properties": {"n": {"const": 1}}}));
    let plain = tool("plain", json!({"type": "object", "properties": {"n": {"const": 1}}}));
    let config =
        Config::new().server("fake", &server(&directory, &[long, plain])).section(PASSTHROUGH).section(METRICS);
    let proxy = Proxy::new(&config).http().await;
    for client in ["claude-code", "gemini-cli-mcp-client", "somebody"] {
        listed_by(&proxy, "", client).await.result();
    }
    let metrics = metrics(&proxy).await;
    let of_rows: Vec<&str> = metrics.lines().filter(|line| line.starts_with("proxy_lowered_tools{")).collect();
    // Gemini takes no `const`, which both tools have; Claude Code only the long name.
    for row in [r#"proxy_lowered_tools{row="claude-code"} 1"#, r#"proxy_lowered_tools{row="gemini-cli"} 2"#] {
        assert!(of_rows.contains(&row), "{row} is not among {of_rows:?}");
    }
    // To the others, both tools are as published.
    assert_eq!(of_rows.iter().filter(|row| row.ends_with(" 0")).count(), of_rows.len() - 2, "{of_rows:?}");
}

#[tokio::test]
async fn a_list_that_became_a_search_is_told_in_the_log_and_by_status() {
    let directory = TempDir::new();
    let config = Config::new().server("fake", &server(&directory, &tools(90)));
    let proxy = Proxy::new(&config).http().await;
    let told = "the optimizer is on for clients of the row `cursor`, which take at most 80 tools: there are 91";
    let before = proxy.world.run(["status"]).await.expect(0);
    assert!(!before.stdout.contains("the optimizer is on"), "{}", before.stdout);
    let names = listed_by(&proxy, "", "cursor-vscode").await.tool_names();
    assert_eq!(names, ["find_tool", "describe_tool", "call_tool"]);
    proxy.program.stderr.line(told).await;
    let status = proxy.world.run(["status"]).await.expect(0);
    let row = "clients of the row cursor get 0 tools in another form";
    let beside = status.stdout.lines().skip_while(|line| !line.contains(row)).nth(1).unwrap_or_default();
    assert_eq!(beside.trim(), told, "{}", status.stdout);
    // Who takes them all gets them all.
    assert_eq!(listed_by(&proxy, "", "claude-code").await.tool_names().len(), 91);
    let status = proxy.world.run(["status"]).await.expect(0);
    assert_eq!(status.stdout.matches("the optimizer is on").count(), 1, "{}", status.stdout);
}

#[tokio::test]
async fn all_people_with_clients_of_one_row_share_one_run_of_the_script() {
    let script = |reads: &str| {
        format!(
            "sessionInit:\n  script: |\n    \
             publish(metadata(\"mine\", str({reads}), {{}}, {{}}), lambda args: current_user().sub)\n"
        )
    };
    // One more run is that for nobody.
    for (reads, runs) in [("client().dialect.row", 2), ("client().name", 3)] {
        let config = Config::new().section(TOKENS).section(METRICS).section(&script(reads));
        let proxy = Proxy::new(&config).http().await;
        for (token, person) in [("secret-token-of-a", "ann"), ("secret-token-of-b", "bob")] {
            let mut client = proxy.client().with_header("Authorization", &format!("Bearer {token}"));
            client.initialize_as("2025-11-25", "claude-code").await.result();
            let list = client.request("tools/list", "{}").await.value();
            assert_eq!(list["result"]["tools"][0]["description"], "claude-code", "{reads}");
            // What is shared is the list, not the person.
            assert_eq!(client.call("mine", "{}").await.text(), person, "{reads}");
        }
        let counted = format!("proxy_surface_build_seconds_count {runs}");
        let metrics = metrics(&proxy).await;
        assert!(metrics.lines().any(|line| line == counted), "{reads}: no `{counted}` in {metrics}");
    }
}
