//! Calls that were recorded from a running proxy.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::{Recorder, serving};
use crate::support::config::Config;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

const POLICY: &str = r#"
for meta, call in backends()["fake"].tools():
    publish(meta, call)
"#;

const STRICTER: &str = r#"
def on_request(request):
    if request.arguments.get("table") == "payroll":
        fail("payroll is not for models")

for meta, call in backends()["fake"].tools():
    publish(meta, call)
"#;

fn world() -> Proxy {
    let config = Config::new()
        .server("fake", &fake_backend(["--only", "echo"]))
        .section("sessionInit: { scriptFile: policy.star }");
    Proxy::new(&config).file("policy.star", POLICY).file("new.star", STRICTER)
}

#[tokio::test]
async fn of_a_thousand_calls_the_four_are_found_that_a_changed_script_refuses() {
    let mut proxy = serving(world()).await;
    let recorder = Recorder::start(&proxy.world).await;
    for number in 0..1000 {
        let table = if number % 250 == 7 { "payroll" } else { "orders" };
        proxy.client.call("echo", &json!({"table": table, "n": number}).to_string()).await.result();
    }
    let said = recorder.end(&proxy.world, 1001).await;
    assert!(said.contains("including secrets") && said.ends_with("recorded 1000 calls in `calls.jsonl`\n"), "{said}");
    let file = proxy.world.directory.path().join("calls.jsonl");
    let mode = std::fs::metadata(&file).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "only the user may read it");
    let text = std::fs::read_to_string(&file).expect("it is there");
    let start: Value = serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
    let catalog = &start["start"]["catalog"];
    assert_eq!(catalog["servers"][0]["offer"]["tools"][0]["name"], "echo");
    assert!(catalog["script"].is_string(), "{catalog}");

    // No server runs any more, and none is started.
    proxy.client.program.terminate();
    proxy.client.program.exit().await;
    let same = proxy.world.run(["backtest", "calls.jsonl"]).await.expect(0);
    assert_eq!(same.stdout, "1,000 calls: 1,000 same\n");
    let found = proxy.world.run(["backtest", "calls.jsonl", "--script", "new.star"]).await.expect(1);
    let lines: Vec<&str> = found.stdout.lines().collect();
    assert_eq!(lines[0], "1,000 calls: 996 same, 4 now refused (new.star:4)");
    assert_eq!(lines.len(), 5, "{}", found.stdout);
    for line in &lines[1..] {
        assert!(
            line.contains("tools/call echo ")
                && line.ends_with(": now refused (new.star:4: payroll is not for models)"),
            "{line}"
        );
    }
    let report = proxy.world.run(["backtest", "calls.jsonl", "--script", "new.star", "--json"]).await.expect(1).json();
    assert_eq!(
        (&report["calls"], &report["same"], &report["counts"]),
        (&json!(1000), &json!(996), &json!({"nowRefused": 4}))
    );
    assert_eq!(report["differences"][3]["place"], "new.star:4");
}

#[tokio::test]
async fn a_recording_is_made_only_on_purpose_and_never_overwrites_a_file() {
    let proxy = serving(world()).await;
    let unsure = proxy.world.run(["calls", "--record", "calls.jsonl"]).await.expect(2);
    assert!(unsure.stderr.contains("including secrets") && unsure.stderr.contains("pass --yes"), "{}", unsure.stderr);
    assert!(!proxy.world.directory.path().join("calls.jsonl").exists());
    let file = proxy.world.directory.write("calls.jsonl", "mine");
    let refused = proxy.world.run(["calls", "--record", "calls.jsonl", "--yes"]).await.expect(2);
    assert!(refused.stderr.starts_with("error: `calls.jsonl` already exists"), "{}", refused.stderr);
    assert_eq!(std::fs::read_to_string(file).expect("it is there"), "mine");
}

const ASKS: &str = r#"
def careful(call):
    def handler(args):
        answer = elicit("Really?", when_unavailable = "reject")
        return call(args) if answer.action == "accept" else error("nobody agreed")
    return handler

for meta, call in backends()["fake"].tools():
    publish(meta, careful(call))
"#;

#[tokio::test]
async fn a_change_of_the_script_is_recorded_and_stateless_answers_are_used_again() {
    let world = world().file("policy.star", ASKS).file("asks.star", ASKS);
    let mut proxy = world.stdio();
    let modern = |more: Value| {
        let mut params = json!({"name": "echo", "arguments": {"n": 1}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "modern", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
        }});
        for (name, value) in more.as_object().expect("an object") {
            params[name] = value.clone();
        }
        params.to_string()
    };
    proxy.client.request("tools/call", &modern(json!({}))).await.result();
    let recorder = Recorder::start(&proxy.world).await;
    let asked = proxy.client.request("tools/call", &modern(json!({}))).await.value();
    let result = &asked["result"];
    let key = result["inputRequests"].as_object().and_then(|asked| asked.keys().next()).expect("a question").clone();
    let answers = json!({
        "requestState": result["requestState"],
        "inputResponses": {key: {"action": "accept", "content": {}}},
    });
    let answered = proxy.client.request("tools/call", &modern(answers)).await.value();
    assert_eq!(answered["result"]["structuredContent"]["n"], 1, "{answered}");
    proxy.world.directory.write("policy.star", POLICY);
    recorder.end(&proxy.world, 4).await;
    let text = std::fs::read_to_string(proxy.world.directory.path().join("calls.jsonl")).expect("it is there");
    let last: Value = serde_json::from_str(text.lines().last().expect("a line")).expect("JSON");
    assert_eq!(last["catalog"]["servers"][0]["name"], "fake", "{last}");

    let same = proxy.world.run(["backtest", "calls.jsonl", "--script", "asks.star"]).await.expect(0);
    assert_eq!(same.stdout, "2 calls: 2 same\n");
    let silent = proxy.world.run(["backtest", "calls.jsonl"]).await.expect(1);
    assert!(silent.stdout.starts_with("2 calls: 0 same, 2 no longer ask\n"), "{}", silent.stdout);
}
