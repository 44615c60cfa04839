//! What the author of a config sees: errors, labels and rules of an item, the audit log, tests of scripts.

use serde_json::{Value, json};

use super::{Conversation, LABELS, PASSTHROUGH, audited, rules, text, world};
use crate::support::finished::Finished;
use crate::support::proxy::Proxy;

async fn run(proxy: &Proxy, arguments: &[&str], code: i32) -> String {
    let finished = Finished::run(proxy.command(arguments.iter().copied())).await.expect(code);
    format!("{}{}", finished.stdout, finished.stderr)
}

#[tokio::test]
async fn explain_shows_labels_and_rules() {
    let (proxy, _folder) = world("legacy", &[], &[PASSTHROUGH, &rules("ask")]);
    let told = run(&proxy, &["explain", "--live", "read_vault"], 0).await;
    assert!(told.contains("labels: secret\n"), "{told}");
    let told = run(&proxy, &["explain", "--live", "fetch"], 0).await;
    assert!(
        told.contains("labels: egress, untrusted (derived: the server does not say `openWorldHint: false`)"),
        "{told}"
    );
    assert!(
        told.contains("flow: the user is asked before each call once secret, untrusted was read (proxy.yaml:"),
        "{told}"
    );
    let told = run(&proxy, &["explain", "--live", "note"], 0).await;
    assert!(told.contains("labels: none (the server says `openWorldHint: false`)"), "{told}");
    let told = run(&proxy, &["explain", "--live", "--json", "send_mail"], 0).await;
    let items: Value = serde_json::from_str(&told).expect("JSON");
    assert!(items[0]["labels"].as_str().is_some_and(|labels| labels.starts_with("egress, untrusted")), "{told}");
}

#[tokio::test]
async fn check_finds_labels_that_nothing_has() {
    let section = "flow:\n  labels:\n  - {name: read_vualt, labels: [secret]}\n  - {name: note, server: fakr, labels: [x]}\n  \
        rules:\n  - {when: [secret], then: egres, do: deny}\n  - {when: [told], then: egress, do: deny}\n";
    let (proxy, _folder) = world("legacy", &[], &[PASSTHROUGH, section]);
    let told = run(&proxy, &["check", "--live"], 1).await;
    assert!(told.contains("flow rule: nothing has the labels `secret`, `egres`"), "{told}");
    assert!(told.contains("did you mean `egress`?") && told.contains("nothing has the label `told`"), "{told}");
    assert!(
        told.contains("nothing is published as `read_vualt`") && told.contains("did you mean `read_vault`?"),
        "{told}"
    );
    assert!(told.contains("there is no server `fakr`") && told.contains("did you mean `fake`?"), "{told}");
    // A label that a script sets is one.
    let script = "load(\"@proxy//lib@1.star\", \"aggregate\", \"mark_by\")\nfor meta, call in aggregate(backends()):\n    \
        publish(meta, mark_by(call, lambda result: [\"told\"]))\n";
    let section = "flow: {rules: [{when: [told], then: egress, do: deny}]}";
    let (proxy, _folder) = world("legacy", &[], &["sessionInit: { scriptFile: policy.star }", section]);
    run(&proxy.file("policy.star", script), &["check", "--live"], 0).await;
}

#[tokio::test]
async fn labels_never_leave_the_proxy() {
    let script =
        "for meta, call in backends()[\"fake\"].tools():\n    publish(meta.replace(labels = [\"top-secret\"]), call)\n";
    let section = "flow: {rules: [{when: [top-secret], then: egress, do: deny}]}";
    let (proxy, folder) = world("legacy", &[], &["sessionInit: { scriptFile: policy.star }", section]);
    let mut conversation = Conversation::at((proxy.file("policy.star", script), folder), false).await;
    let listed = conversation.client.proxy.client.request("tools/list", "{}").await;
    assert!(listed.raw.contains("read_vault") && !listed.raw.contains("top-secret"), "{}", listed.raw);
}

#[tokio::test]
async fn the_audit_log_says_which_marks_decided() {
    let section = "audit: { file: audit.jsonl }";
    let (proxy, folder) = world("legacy", &[], &[PASSTHROUGH, &rules("deny"), section]);
    let file = proxy.directory.path().join("audit.jsonl");
    let mut conversation = Conversation::at((proxy, folder), false).await;
    conversation.passes("fetch", text("page")).await;
    conversation.passes("read_vault", text("key")).await;
    conversation.stopped("send_mail", text("s3cret")).await;
    let line = audited(&file, "\"send_mail\"").await;
    assert_eq!(line["outcome"], "denied", "{line}");
    assert_eq!(
        line["flow"],
        json!([{"action": "deny", "marks": ["secret", "untrusted"], "then": "egress", "item": "send_mail"}])
    );
    assert_eq!(line["policy"]["by"], "flow", "{line}");
    assert!(line["policy"]["at"].as_str().is_some_and(|at| at.starts_with("proxy.yaml:")), "{line}");
}

#[tokio::test]
async fn the_audit_log_has_the_calls_before_the_one_that_was_denied() {
    let script = r#"
tools = {meta.name: call for meta, call in backends()["fake"].tools()}

def report(args):
    tools["fetch"]({"text": "page"})
    secret = tools["read_vault"]({"text": "s3cret"})
    return tools["send_mail"](unwrap(secret))

publish(metadata("report", "", {}, {}), report)
"#;
    let flow = rules("deny").replace(LABELS, "  labels:\n  - {name: read_vault, server: fake, labels: [secret]}\n");
    let sections = ["sessionInit: { scriptFile: policy.star }", &flow, "audit: { file: audit.jsonl }"];
    let (proxy, folder) = world("legacy", &[], &sections);
    let file = proxy.directory.path().join("audit.jsonl");
    let mut conversation = Conversation::at((proxy.file("policy.star", script), folder), false).await;
    conversation.stopped("report", json!({})).await;
    let line = audited(&file, "\"report\"").await;
    let calls: Vec<_> = line["calls"].as_array().expect("calls").iter().map(|call| &call["name"]).collect();
    assert_eq!((&line["outcome"], calls), (&json!("denied"), vec![&json!("fetch"), &json!("read_vault")]), "{line}");
    assert_eq!(line["flow"][0]["action"], "deny", "{line}");
}

#[tokio::test]
async fn a_test_begins_with_marks_and_sees_them() {
    let test = r#"
FLOW = {"labels": [{"name": "vault", "labels": ["secret"]}], "rules": [{"when": ["secret"], "then": "egress", "do": "ask"}]}
TOOLS = {"s": testing.backend(tools = [
    testing.tool("vault", annotations = {"openWorldHint": False}, returns = "key"),
    testing.tool("send", returns = "sent"),
])}

def test_asks_after_a_secret():
    s = testing.session(preset = "passthrough", backends = TOOLS, config = {"flow": FLOW}, answers = [{"action": "accept"}])
    testing.eq(unwrap(s.call("send", {})), "sent")
    testing.eq(s.marks(), ["egress", "untrusted"])
    s.call("vault", {})
    testing.eq(s.marks(), ["egress", "secret", "untrusted"])
    testing.eq(unwrap(s.call("send", {})), "sent")

def test_begins_with_marks():
    s = testing.session(preset = "passthrough", backends = TOOLS, config = {"flow": FLOW}, marks = ["secret"], answers = [{"action": "decline"}])
    testing.contains(str(s.call("send", {})), "did not agree")
"#;
    let proxy = Proxy::with_config_text("").file("flow_test.star", test);
    let told = run(&proxy, &["test"], 0).await;
    assert!(told.contains("2 tests, all passed"), "{told}");
}

#[tokio::test]
async fn a_reload_does_not_take_the_rules_away() {
    let (proxy, folder) = world("legacy", &[], &[PASSTHROUGH, &rules("deny")]);
    let file = proxy.directory.path().join("proxy.yaml");
    let with = std::fs::read_to_string(&file).expect("a config");
    let mut conversation = Conversation::at((proxy, folder), false).await;
    conversation.passes("fetch", text("page")).await;
    conversation.passes("read_vault", text("key")).await;
    let without = with.replace(&rules("deny"), "");
    assert_ne!(with, without);
    std::fs::write(&file, without).expect("the config can be written");
    conversation.client.proxy.client.stderr().line("`flow` was removed").await;
    conversation.stopped("send_mail", text("s3cret")).await;
    // Another rule takes effect.
    std::fs::write(&file, with.replace("do: deny", "do: log")).expect("the config can be written");
    conversation.client.proxy.client.stderr().line("reloaded").await;
    let sent = async { while conversation.call("send_mail", text("x")).await["result"]["isError"] == true {} };
    tokio::time::timeout(crate::support::patience::LONG_PATIENCE, sent).await.expect("the new rule holds");
}

#[tokio::test]
async fn a_wrong_section_is_refused_with_its_line() {
    let proxy =
        Proxy::with_config_text(&format!("flow:\n{LABELS}  rules:\n  - {{when: [secret], then: egress, do: stop}}\n"));
    let told = run(&proxy, &["check"], 2).await;
    assert!(told.contains("`flow.rules[0].do`: expected one of `ask`, `deny`, `log`"), "{told}");
}
