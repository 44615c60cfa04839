//! A recorded call as a test.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

use super::serving;
use crate::support::config::Config;
use crate::support::patience::within;
use crate::support::program::Program;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;
use crate::support::temp_dir::TempDir;

const POLICY: &str = r#"
def on_request(request):
    if request.arguments.get("n") == 13:
        fail("not today")

limit = config()["params"]["limit"]
many = config()["rateLimiting"]["perUser"]["maxTokens"]
slow = config()["codeMode"]["timeout"]
calls = {meta.name: call for meta, call in backends()["fake"].tools()}

def both(args):
    first, second = unwrap(calls["echo"]({"part": 1})), unwrap(calls["echo"]({"part": 2}))
    return {"parts": [first["part"], second["part"]], "limit": limit}

for meta, call in backends()["fake"].tools():
    publish(meta, call)
publish(metadata("both", "Two calls.", {"type": "object"}, {}), both)
"#;

#[tokio::test]
async fn a_recorded_call_becomes_a_test_that_passes() {
    let config = Config::new()
        .server("fake", &fake_backend(["--only", "echo"]))
        .section("sessionInit: { scriptFile: policy.star, params: { limit: 3 } }")
        .section("rateLimiting: { perUser: { maxTokens: 1000, refillPeriod: 1m } }")
        .section("codeMode: { timeout: 1500ms }");
    let mut proxy = serving(Proxy::new(&config).file("policy.star", POLICY)).await;
    let command = proxy.world.command(["calls", "--follow", "--json", "--filter", "method=tools/call"]);
    let (follower, _stdin, stdout) = Program::start(command);
    follower.stderr.line("following the calls of process").await;
    let mut lines = BufReader::new(stdout).lines();
    let mut tests = String::new();
    for (tool, arguments, expected) in [
        (
            "echo",
            r#"{"n":1,"password":"hunter2"}"#,
            "testing.eq(s.call(\"echo\", {\"n\": 1, \"password\": \"[secret]\"})",
        ),
        ("echo", r#"{"n":13}"#, "testing.contains(result[\"content\"][0][\"text\"], \"not today\")"),
        ("both", "{}", "returns = lambda args: [answer for sent, answer in ["),
        ("nothing", "{}", "testing.raises(lambda: s.call(\"nothing\", {}), \"unknown tool: nothing\")"),
    ] {
        proxy.client.call(tool, arguments).await;
        let line = within("the call", &follower.stderr, lines.next_line()).await.expect("text").expect("a line");
        let call: Value = serde_json::from_str(&line).expect("JSON");
        let id = call["id"].as_str().expect("an id");

        let test = proxy.world.run(["calls", "--as-test", id]).await.expect(0);

        assert!(test.stdout.contains(expected) && !test.stdout.contains("# Note"), "{}", test.stdout);
        assert!(test.stderr.contains("`--show-secrets` shows them"), "{}", test.stderr);
        assert!(!test.stdout.contains("hunter2"), "{}", test.stdout);
        tests.push_str(&test.stdout);
    }
    proxy.world.directory.write("policy_test.star", &tests);
    let passed = proxy.world.run(["test", "policy_test.star"]).await.expect(0);
    assert!(passed.stdout.contains("4 tests, all passed"), "{}", passed.stdout);
    // The same tests fail if the policy changes.
    proxy.world.directory.write("policy.star", &POLICY.replace("== 13", "== 1"));
    proxy.world.run(["test", "policy_test.star"]).await.expect(1);
}

#[tokio::test]
async fn a_call_with_arguments_that_only_the_server_accepts_becomes_a_test_that_passes() {
    let directory = TempDir::new();
    let schema = json!({"type": "object", "properties": {"petId": {"type": "integer"}}});
    let tool = json!({"name": "pet", "description": "One pet.", "inputSchema": schema});
    let answer = json!({"pet": {"content": [{"type": "text", "text": "Rex"}]}});
    let tools = directory.write("tools.json", &json!([tool]).to_string()).display().to_string();
    let results = directory.write("results.json", &answer.to_string()).display().to_string();
    let config = Config::new()
        .server("pets", &fake_backend(["--tools", &tools, "--results", &results]))
        .section("sessionInit: { scriptFile: policy.star }");
    let policy = "for meta, call in backends()[\"pets\"].tools():\n    publish(meta, call)\n";
    let mut proxy = serving(Proxy::new(&config).file("policy.star", policy)).await;
    let command = proxy.world.command(["calls", "--follow", "--json", "--filter", "method=tools/call"]);
    let (follower, _stdin, stdout) = Program::start(command);
    follower.stderr.line("following the calls of process").await;
    let mut lines = BufReader::new(stdout).lines();
    let mut tests = String::new();
    for (arguments, is_lenient) in [(r#"{"petId":"abc"}"#, true), (r#"{"petId":7}"#, false)] {
        assert_eq!(proxy.client.call("pet", arguments).await.text(), "Rex");
        let line = within("the call", &follower.stderr, lines.next_line()).await.expect("text").expect("a line");
        let call: Value = serde_json::from_str(&line).expect("JSON");

        let test = proxy.world.run(["calls", "--as-test", call["id"].as_str().expect("an id")]).await.expect(0);

        let note = "# `pet` took arguments that its schema does not allow: it has no `parameters` here.";
        assert_eq!(test.stdout.contains(note), is_lenient, "{}", test.stdout);
        assert_eq!(test.stdout.contains("parameters = {"), !is_lenient, "{}", test.stdout);
        tests.push_str(&test.stdout);
    }
    proxy.world.directory.write("policy_test.star", &tests);
    let passed = proxy.world.run(["test", "policy_test.star"]).await.expect(0);
    assert!(passed.stdout.contains("2 tests, all passed"), "{}", passed.stdout);
}
