//! Profiles on the command line: a client on stdio, commands that run the session script, `check` and tests.

use serde_json::{Value, json};

use super::{RESEARCH, config, world};
use crate::support::config::Config;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

#[tokio::test]
async fn a_client_on_stdio_has_the_profile_of_its_command_line() {
    let cedar = "permit(principal, action, resource) when { context.profile == \"research\" };\n";
    let config = config(RESEARCH).section("cedar: { policies: [policies.cedar] }");
    let mut proxy = world(&config).file("policies.cedar", cedar).argument("--profile").argument("research").stdio();
    proxy.client.initialize("2025-11-25").await.result();
    assert_eq!(proxy.tools().await, ["where", "papers_echo"]);
    let said: Value = serde_json::from_str(&proxy.client.call("where", "{}").await.structured()).expect("JSON");
    assert_eq!(said, json!({"top": "research", "call": "research", "servers": ["papers"]}));
    // A change of the file is a change of the profile.
    let changed = super::config("  research: { servers: ['*'] }").section("cedar: { policies: [policies.cedar] }");
    proxy.world.directory.write("proxy.yaml", &changed.text());
    proxy.client.expect_notification("notifications/tools/list_changed").await;
    assert!(proxy.tools().await.contains(&"crm_echo".to_owned()));
}

#[tokio::test]
async fn a_profile_that_does_not_exist_ends_the_start_with_the_nearest_name() {
    let proxy = world(&config(RESEARCH));
    let ended = proxy.run(["serve", "--profile", "reserch"]).await.expect(2);
    assert!(
        ended.stderr.contains("no profile `reserch`") && ended.stderr.contains("did you mean `research`?"),
        "{}",
        ended.stderr
    );
    let http = proxy.run(["serve", "--http", "127.0.0.1:0", "--profile", "research"]).await.expect(2);
    assert!(http.stderr.contains("add the name of the profile to its path"), "{}", http.stderr);
}

#[tokio::test]
async fn commands_show_and_call_what_a_profile_publishes() {
    let proxy = world(&config(RESEARCH));
    let listed = proxy.run(["list-tools", "--profile", "research", "--json"]).await.expect(0).json();
    let names: Vec<&str> = listed.as_array().expect("a list").iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["where", "papers_echo"]);
    let said = proxy.run(["call", "where", "--profile", "sales"]).await.expect(0);
    assert!(said.stdout.contains("\"sales\"") && said.stdout.contains("crm"), "{}", said.stdout);
    let refused = proxy.run(["call", "papers_echo", "--profile", "sales"]).await;
    assert!(refused.stderr.contains("papers_echo"), "{}", refused.stderr);
    assert_ne!(refused.code, 0);
}

#[tokio::test]
async fn check_runs_the_script_for_every_profile() {
    let proxy = world(&config(RESEARCH));
    let report = proxy.run(["check", "--live", "--json"]).await.expect(0).json();
    let expected = json!([
        {"name": "research", "servers": ["papers"], "tools": 2},
        {"name": "sales", "servers": ["crm"], "tools": 3},
    ]);
    assert_eq!(report["profiles"], expected);
    let broken =
        "  good: { servers: [papers] }\n  bad: { servers: ['x*'], sessionInit: { script: \"backends()['papers']\" } }";
    let proxy = world(&config(broken));
    let report = proxy.run(["check", "--live"]).await.expect(1);
    let text = format!("{}{}", report.stdout, report.stderr);
    assert!(text.contains("in the profile `bad`"), "{text}");
    assert!(text.contains("no server and no extension matches this"), "{text}");
}

#[tokio::test]
async fn mistakes_in_profiles_are_told_with_the_nearest_name() {
    let proxy = Proxy::new(&config(
        "  a: { servers: [paper] }\n  connect: { servers: ['*'] }\n  b: { servers: [] }\n  c: { server: [crm] }",
    ));
    let ended = proxy.run(["check"]).await.expect(2);
    for expected in ["is the path of a page", "at least one server or extension", "did you mean `servers`?"] {
        assert!(ended.stderr.contains(expected), "{expected}: {}", ended.stderr);
    }
    let proxy = world(&config("  a: { servers: [paper] }"));
    let ended = proxy.run(["check"]).await.expect(2);
    assert!(ended.stderr.contains("no server and no extension `paper`"), "{}", ended.stderr);
    assert!(ended.stderr.contains("did you mean `papers`?"), "{}", ended.stderr);
}

#[tokio::test]
async fn a_test_opens_a_session_under_a_profile() {
    let test = r#"
PROFILES = {"research": {"servers": ["papers"]}, "sales": {"servers": ["crm*"], "rateLimiting": {"global": {"maxTokens": 1, "refillPeriod": "1h"}}}}

def backends_of_test():
    return {
        "papers": testing.backend(tools = [testing.tool("echo", returns = "p")]),
        "crm": testing.backend(tools = [testing.tool("echo", returns = "c")]),
    }

def test_a_profile_shows_its_servers():
    s = testing.session(script = "policy.star", backends = backends_of_test(), config = {"profiles": PROFILES}, profile = "research")
    testing.eq([tool["name"] for tool in s.tools()], ["where", "papers_echo"])
    testing.eq(s.call("where", {})["structuredContent"]["call"], "research")

def test_an_unknown_profile_is_an_error():
    testing.raises(lambda: testing.session(script = "policy.star", backends = backends_of_test(), config = {"profiles": PROFILES}, profile = "reserch"), "did you mean `research`?")
"#;
    let config = Config::new().server("papers", &fake_backend(["--only", "echo"]));
    let proxy = world(&config).file("policy_test.star", test);
    let ran = proxy.run(["test", "policy_test.star"]).await;
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
}
