//! `proxy tokens`: what the tools cost a model.

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

/// Two servers, of which one has a tool with a long description.
fn world(sections: &str) -> Proxy {
    let proxy = Proxy::with_config_text("");
    let long = "Many words about very little. ".repeat(40);
    let schema = json!({"type": "object", "properties": {"query": {"type": "string"}}});
    let tools = json!([
        {"name": "long", "description": long, "inputSchema": schema},
        {"name": "short", "description": "Does it.", "inputSchema": schema, "annotations": {"readOnlyHint": true}},
    ]);
    let file = proxy.directory.write("tools.json", &tools.to_string());
    let config = Config::new()
        .server("desk", &fake_backend(["--tools", file.to_str().expect("a path")]))
        .server("other", &fake_backend(["--only", "echo"]))
        .section(sections);
    proxy.directory.write("proxy.yaml", &config.text());
    proxy
}

fn at<'a>(list: &'a Value, member: &str, name: &str) -> &'a Value {
    let found = list.as_array().into_iter().flatten().find(|entry| entry[member] == name);
    found.unwrap_or_else(|| panic!("no `{name}` in {list}"))
}

fn tokens(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[tokio::test]
async fn each_server_tool_and_preset_has_its_tokens() {
    // Given a config that renames one tool and hides another
    let proxy = world(
        "aggregation: { tools: [{workload: desk, overrides: {long: {name: brief, description: Brief.}}}, \
         {workload: other, excludeAll: true}] }",
    );
    // When it is measured
    let report = proxy.run(["tokens", "--json"]).await.expect(0).json();
    // Then the servers add up to the totals, and the tools to the servers
    let [desk, other] = ["desk", "other"].map(|name| at(&report["servers"], "server", name));
    assert_eq!(tokens(&desk["offered"]) + tokens(&other["offered"]), tokens(&report["offered"]), "{report}");
    assert_eq!((&desk["published"], &other["published"]), (&report["published"], &json!(0)), "{report}");
    assert_eq!((&desk["offeredTools"], &other["publishedTools"]), (&json!(2), &json!(0)), "{report}");
    let [long, short, echo] = ["long", "short", "echo"].map(|name| at(&report["tools"], "tool", name));
    assert_eq!(&report["tools"][0], short, "what costs the client most is first: {report}");
    assert_eq!(tokens(&long["offered"]) + tokens(&short["offered"]), tokens(&desk["offered"]), "{report}");
    assert!(tokens(&long["offered"]) > 200 && tokens(&long["published"]) < 40, "{report}");
    assert_eq!((&long["publishedAs"], &echo["published"]), (&json!("brief"), &Value::Null), "{report}");
    // And each preset is told with what it would publish
    let preset = |name: &str| at(&report["presets"], "preset", name);
    assert_eq!(preset("default@1")["tokens"], report["published"], "{report}");
    assert_eq!(preset("passthrough@1")["tokens"], report["offered"], "{report}");
    assert_eq!((&preset("optimizer@1")["tools"], &preset("read-only@1")["tools"]), (&json!(3), &json!(1)), "{report}");
    // As text, with as many tools as are asked for
    let text = proxy.run(["tokens", "--top", "1"]).await.expect(0).stdout;
    let tables: Vec<Vec<&str>> = text.split("\n\n").map(|table| table.lines().collect()).collect();
    let sizes: Vec<usize> = tables.iter().map(Vec::len).collect();
    assert_eq!(sizes, [4, 2, 7], "{text}");
    assert!(tables[1][1].starts_with("short  desk "), "{text}");
    assert!(
        tables[2].iter().any(|line| line.starts_with("optimizer@1    ") && line.ends_with(" for 3 tools")),
        "{text}"
    );
}

#[tokio::test]
async fn a_running_proxy_answers_and_a_preset_that_cannot_be_used_is_told() {
    // Given two servers with a tool of the same name, which `passthrough` refuses, behind a running proxy
    let config = Config::new()
        .server("one", &fake_backend(["--only", "echo"]))
        .server("two", &fake_backend(["--only", "echo"]))
        .section("sessionInit: { preset: optimizer }");
    let mut proxy = Proxy::new(&config).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy.client.request("tools/list", "{}").await.result();
    // When it is measured
    let report = proxy.world.run(["tokens", "--json"]).await.expect(0).json();
    // Then the tools of the script have no server
    let made = at(&report["tools"], "tool", "find_tool");
    assert_eq!((&made["server"], &made["offered"]), (&json!(""), &Value::Null), "{report}");
    assert_eq!(at(&report["servers"], "server", "")["publishedTools"], 3, "{report}");
    assert_eq!(at(&report["presets"], "preset", "optimizer@1")["tokens"], report["published"], "{report}");
    let refused = at(&report["presets"], "preset", "passthrough@1");
    assert!(refused["error"].as_str().is_some_and(|error| error.contains("echo")), "{report}");
    let text = proxy.world.run(["tokens"]).await.expect(0).stdout;
    assert!(text.contains("(script)") && text.contains("not possible: "), "{text}");
}

#[tokio::test]
async fn a_client_with_limits_gets_other_definitions() {
    // Given a tool whose description is longer than a client shows, and clients that accept one tool
    let proxy = world(
        "aggregation: { conflictResolution: prefix }\n\
         clients: { rows: { curt: { match: [curt], descriptionLength: 200 }, few: { match: [few], tools: 1 } } }",
    );
    let report = async |client: &[&str]| proxy.run([&["tokens", "--json"], client].concat()).await.expect(0).json();
    // When it is measured for everybody and for these clients
    let everybody = report(&[]).await;
    let curt = report(&["--client", "curt"]).await;
    let few = report(&["--client", "few"]).await;
    // Then servers offer the same, the long description costs less, and few tools become a search
    assert_eq!(everybody["offered"], curt["offered"], "{curt}");
    let published = |report: &Value| tokens(&at(&report["tools"], "tool", "long")["published"]);
    assert!(published(&curt) < 100 && published(&everybody) > 200, "{curt}");
    assert_eq!(at(&curt["presets"], "preset", "default@1")["tokens"], curt["published"], "{curt}");
    assert_eq!(at(&few["servers"], "server", "")["publishedTools"], 3, "{few}");
    // And a row that does not exist is an error that names one that does
    let unknown = proxy.run(["tokens", "--client", "gemini"]).await.expect(2);
    assert!(unknown.stderr.contains("there is no row `gemini`"), "{}", unknown.stderr);
}
