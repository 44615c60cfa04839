//! A client that takes fewer tools than there are finds them by search.

use serde_json::{Value, json};

use super::{introduce, listed, named, server, tool};
use crate::support::config::Config;
use crate::support::in_process::{Proxy, StdioProxy};
use crate::support::proxy as process;
use crate::support::temp_dir::TempDir;

fn tools(count: usize) -> Vec<Value> {
    (0..count).map(|n| tool(&format!("tool_{n}"), json!({"type": "object"}))).collect()
}

fn proxy(directory: &TempDir, count: usize, section: &str) -> StdioProxy {
    Proxy::new(&Config::new().server("fake", &server(directory, &tools(count))).section(section)).stdio()
}

#[tokio::test]
async fn more_tools_than_a_client_takes_are_found_by_search() {
    for (client, section, expected) in [
        ("cursor-vscode", "", 3),
        ("claude-code", "", 91),
        ("somebody", "", 91),
        ("cursor-vscode", "optimizer: {aboveClientLimit: false}", 91),
        ("cursor-vscode", "clients: {dialects: off}", 91),
        ("somebody", "clients: {rows: {mine: {match: [some*], tools: 40}}}", 3),
    ] {
        let directory = TempDir::new();
        let mut proxy = proxy(&directory, 90, section);
        introduce(&mut proxy.client, client).await;
        let names = proxy.client.tools_until(|names| !names.is_empty()).await;
        assert_eq!(names.len(), expected, "{client}, {section}: {names:?}");
        if expected == 3 {
            assert_eq!(names, ["find_tool", "describe_tool", "call_tool"]);
            let answer = proxy.client.call("call_tool", r#"{"tool_name":"tool_7","parameters":{}}"#).await;
            assert_eq!(answer.text(), "done");
        }
    }
}

#[tokio::test]
async fn check_says_that_a_client_gets_fewer_tools() {
    let directory = TempDir::new();
    let world = process::Proxy::new(&Config::new().server("fake", &server(&directory, &tools(90))));
    world.run(["list-tools", "--live"]).await.expect(0);
    let checked = world.run(["check", "--client", "cursor"]).await.expect(0);
    let told = "clients of the row `cursor` get 3 tools instead of 91";
    assert!(checked.stdout.contains(told) || checked.stderr.contains(told), "{} {}", checked.stdout, checked.stderr);
}

#[tokio::test]
async fn a_script_reads_what_the_client_accepts() {
    let script = r#"sessionInit:
  script: |
    limits = client().dialect
    text = "%s %s %s %s %s" % (limits.row, limits.tools, limits.name_length, limits.description_length, limits.result_tokens)
    publish(metadata("limits", text, {}, {}), lambda args: client().dialect.row or "none")
"#;
    for (client, expected, row) in [
        ("claude-code", "claude-code None 52 2048 25000", "claude-code"),
        ("cursor-vscode", "cursor 80 54 None None", "cursor"),
        ("somebody", "None None None None None", "none"),
    ] {
        let mut proxy = Proxy::new(&Config::new().section(script)).stdio();
        introduce(&mut proxy.client, client).await;
        let answer = proxy.client.request("tools/list", "{}").await.value();
        assert_eq!(answer["result"]["tools"][0]["description"], expected, "{client}");
        assert_eq!(proxy.client.call("limits", "{}").await.text(), row);
    }
}

#[tokio::test]
async fn code_mode_tells_how_to_search_where_a_client_would_not_see_every_tool() {
    let section = "sessionInit: {preset: code-mode}";
    let directory = TempDir::new();
    let config = Config::new().server("fake", &server(&directory, &tools(90))).section(section);
    for (client, lists_tools) in [("claude-code", false), ("somebody", true)] {
        let mut proxy = process::Proxy::new(&config).stdio();
        introduce(&mut proxy.client, client).await;
        proxy.client.tools_until(|names| names.len() == 1).await;
        let tools = listed(&mut proxy.client).await;
        let description = named(&tools, "execute_tool_script")["description"].as_str().unwrap();
        assert_eq!(description.contains("tool_89("), lists_tools, "{client}: {description}");
        assert_eq!(description.contains("There are 91 tools"), !lists_tools, "{client}: {description}");
        let tells_how = description.contains("search_tools(\"what it should do\") gives");
        assert_eq!(tells_how, !lists_tools, "{client}: {description}");
        assert_eq!(description.len() <= 2048, !lists_tools, "{client}: {}", description.len());
        assert!(description.contains("attempt(tool, name = value)"), "{client}: {description}");
        let found = json!({"script": "return [tool[\"name\"] for tool in search_tools(\"tool 7\")]"});
        let answer = proxy.client.call("execute_tool_script", &found.to_string()).await;
        assert!(answer.raw.contains("tool_7"), "{}", answer.raw);
    }
}
