//! Calls that flow rules have decided about: the rules see again what the conversations read.

use serde_json::{Value, json};

use super::Recorder;
use crate::support::config::Config;
use crate::support::programs::fake_backend;
use crate::support::proxy::{Proxy, StdioProxy};

const POLICY: &str = r#"
tools = {meta.name: (meta, call) for meta, call in backends()["fake"].tools()}

def report(args):
    tools["fetch"][1]({"text": "page"})
    secret = tools["vault"][1]({"text": "s3cret"})
    return tools["send"][1](unwrap(secret))

for meta, call in tools.values():
    publish(meta, call)
publish(metadata("report", "", {"type": "object"}, {}), report)
"#;

/// With a rule that does this, or with none.
fn config(action: Option<&str>) -> Config {
    let config = Config::new()
        .server("fake", &fake_backend(["--only", "fetch,vault,send"]))
        .section("sessionInit: { scriptFile: policy.star }");
    match action {
        Some(action) => config.section(&format!(
            "flow:\n  labels: [{{name: vault, labels: [secret]}}]\n  rules:\n  - \
             {{when: [untrusted, secret], then: egress, do: {action}}}"
        )),
        None => config,
    }
}

/// A proxy with one of these configs, and a config without rules and one that denies beside it.
async fn recording(action: Option<&str>, capabilities: &str) -> (StdioProxy, Recorder) {
    let world = Proxy::new(&config(action))
        .file("policy.star", POLICY)
        .file("lax.yaml", &config(None).text())
        .file("strict.yaml", &config(Some("deny")).text());
    let mut proxy = world.stdio();
    proxy.client.initialize_with("2025-11-25", capabilities).await.result();
    proxy.tools().await;
    let recorder = Recorder::start(&proxy.world).await;
    (proxy, recorder)
}

async fn call(proxy: &mut StdioProxy, tool: &str) -> Value {
    proxy.client.call(tool, r#"{"text":"x"}"#).await.value()["result"].clone()
}

#[tokio::test]
async fn what_a_rule_has_denied_is_denied_again() {
    let (mut proxy, recorder) = recording(Some("deny"), "{}").await;
    for (tool, is_denied) in [("fetch", false), ("vault", false), ("send", true), ("report", true)] {
        assert_eq!(call(&mut proxy, tool).await["isError"] == true, is_denied, "{tool}");
    }
    recorder.end(&proxy.world, 5).await;
    let same = proxy.world.run(["backtest", "calls.jsonl"]).await.expect(0);
    assert_eq!(same.stdout, "4 calls: 4 same\n");
    // Without the rule, both would be sent.
    let lax = proxy.world.run(["backtest", "calls.jsonl", "-c", "lax.yaml"]).await.expect(1).stdout;
    assert!(lax.starts_with("4 calls: 2 same, 1 now allowed, 1 would now call a server\n"), "{lax}");
    assert!(lax.contains("tools/call send local: now allowed (it would call fake send)"), "{lax}");
    assert!(lax.contains("tools/call report local: would now call fake fetch"), "{lax}");
}

#[tokio::test]
async fn what_one_call_has_read_is_told_in_the_same_order_again() {
    let (mut proxy, recorder) = recording(Some("deny"), "{}").await;
    let denied = call(&mut proxy, "report").await;
    let why = "`send` was not called: this conversation has read `fetch` (untrusted), `vault` (secret)";
    assert_eq!(denied["content"][0]["text"], why, "{denied}");
    recorder.end(&proxy.world, 2).await;
    let same = proxy.world.run(["backtest", "calls.jsonl"]).await.expect(0);
    assert_eq!(same.stdout, "1 call: 1 same\n");
}

#[tokio::test]
async fn a_new_rule_shows_what_it_would_have_denied() {
    let (mut proxy, recorder) = recording(None, "{}").await;
    for tool in ["fetch", "vault", "send"] {
        assert!(call(&mut proxy, tool).await["isError"] != true, "{tool}");
    }
    recorder.end(&proxy.world, 4).await;
    let strict = proxy.world.run(["backtest", "calls.jsonl", "-c", "strict.yaml"]).await.expect(1).stdout;
    assert!(strict.starts_with("3 calls: 2 same, 1 now refused (strict.yaml:"), "{strict}");
    let why = "`send` was not called: this conversation has read `fetch` (untrusted), `vault` (secret)";
    assert!(strict.contains("tools/call send") && strict.contains(why), "{strict}");
}

#[tokio::test]
async fn the_answer_to_a_question_about_a_call_counts_again() {
    let (mut proxy, recorder) = recording(Some("ask"), r#"{"elicitation":{"form":{}}}"#).await;
    for tool in ["fetch", "vault"] {
        call(&mut proxy, tool).await;
    }
    for (action, is_denied) in [("accept", false), ("decline", true)] {
        let params = json!({"name": "send", "arguments": {"text": "x"}});
        let sent = proxy.client.begin("tools/call", &params.to_string()).await;
        let question = proxy.client.expect_notification("elicitation/create").await;
        let answer = json!({"action": action, "content": {}}).to_string();
        let id = question.id().expect("an id");
        proxy.client.send(&crate::support::message::result(&id, &answer)).await;
        let result = proxy.client.response(&sent).await.value();
        assert_eq!(result["result"]["isError"] == true, is_denied, "{result}");
    }
    recorder.end(&proxy.world, 5).await;
    let same = proxy.world.run(["backtest", "calls.jsonl"]).await.expect(0);
    assert_eq!(same.stdout, "4 calls: 4 same\n");
}
