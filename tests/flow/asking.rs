//! `do: ask`: a person sees what was read and what is about to be sent where, and decides about this one call.

use serde_json::{Value, json};

use super::{Conversation, LABELS, PASSTHROUGH, rules, text, world};
use crate::elicitation::{self, Client};

fn ask() -> String {
    rules("ask").replace(LABELS, &format!("{LABELS}  - {{name: seen, labels: []}}\n"))
}

async fn tainted(modern: bool, sections: &[&str]) -> Conversation {
    let mut conversation = Conversation::with(modern, sections).await;
    conversation.passes("fetch", text("page")).await;
    conversation.passes("read_vault", text("key")).await;
    conversation
}

fn message(question: &Value) -> &str {
    question["params"]["message"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn a_person_decides_about_one_call_in_both_eras() {
    for modern in [false, true] {
        let mut conversation = tainted(modern, &[PASSTHROUGH, &ask()]).await;
        let accept = json!({"action": "accept", "content": {}});
        let (questions, outcome) = conversation.client.converse("send_mail", text("s3cret-1"), accept.clone()).await;
        assert_eq!(questions.len(), 1, "{questions:?}");
        let asked = message(&questions[0]);
        for part in ["`fetch` (untrusted)", "`read_vault` (secret)", "`send_mail`", "`fake`", "s3cret-1"] {
            assert!(asked.contains(part), "{part}: {asked}");
        }
        assert_eq!(outcome["result"]["structuredContent"], text("s3cret-1"), "{outcome}");
        // The answer covers that call only.
        let (questions, outcome) =
            conversation.client.converse("send_mail", text("s3cret-2"), json!({"action": "decline"})).await;
        assert_eq!(questions.len(), 1);
        assert_eq!(elicitation::text(&outcome), "`send_mail` was not called: the user did not agree to it");
        assert_eq!(
            (conversation.reached("s3cret-1").await, conversation.reached("s3cret-2").await),
            (1, 0),
            "sent once, and not at all"
        );
    }
}

#[tokio::test]
async fn where_nobody_can_be_asked_it_is_a_denial() {
    for modern in [false, true] {
        let (proxy, folder) = world("legacy", &[], &[PASSTHROUGH, &ask()]);
        let client = Client::at(proxy, modern, "{}").await;
        let mut conversation = Conversation { client, _folder: folder };
        conversation.passes("fetch", text("page")).await;
        conversation.passes("read_vault", text("key")).await;
        let why = conversation.stopped("send_mail", text("s3cret")).await;
        assert_eq!(
            why,
            "`send_mail` was not called: this conversation has read `fetch` (untrusted), `read_vault` (secret)"
        );
    }
}

#[tokio::test]
async fn a_handler_goes_on_after_the_answer_and_repeats_nothing() {
    let script = r#"
tools = {meta.name: call for meta, call in backends()["fake"].tools()}

def all(args):
    page = tools["fetch"]({"text": "page"})
    secret = tools["read_vault"]({"text": "s3cret"})
    sent = tools["send_mail"](unwrap(secret))
    return {"sent": unwrap(sent), "marks": sorted(marks().keys())}

publish(metadata("all", "", {}, {}), all)
publish(metadata("seen", "", {}, {}), lambda args: tools["seen"](args))
"#;
    let flow = "flow:\n  labels:\n  - {name: read_vault, server: fake, labels: [secret]}\n  - {name: seen, server: fake, labels: []}\n  \
        rules:\n  - {when: [untrusted, secret], then: egress, do: ask}\n";
    for modern in [false, true] {
        let (proxy, folder) = world("legacy", &[], &["sessionInit: { scriptFile: policy.star }", flow]);
        let mut conversation = Conversation::at((proxy.file("policy.star", script), folder), modern).await;
        let (questions, outcome) =
            conversation.client.converse("all", json!({}), json!({"action": "accept", "content": {}})).await;
        assert_eq!(questions.len(), 1, "{outcome}");
        assert!(message(&questions[0]).contains("s3cret"), "{questions:?}");
        let result = &outcome["result"]["structuredContent"];
        assert_eq!(result["sent"], text("s3cret"), "{outcome}");
        assert_eq!(result["marks"], json!(["egress", "secret", "untrusted"]));
        for tool in ["fetch", "read_vault", "send_mail"] {
            assert_eq!(conversation.reached(&format!(r#""name":"{tool}""#)).await, 1, "{tool}");
        }
    }
}

#[tokio::test]
async fn on_request_asks_first_and_both_answers_count() {
    let script = r#"
load("@proxy//lib@1.star", "aggregate")

def on_request(request):
    if request.name == "send_mail":
        if elicit("Do you know what you do?", when_unavailable = "reject").action != "accept":
            return error("no")

for meta, call in aggregate(backends()):
    publish(meta, call)
"#;
    for modern in [false, true] {
        let (proxy, folder) = world("legacy", &[], &["sessionInit: { scriptFile: policy.star }", &ask()]);
        let mut conversation = Conversation::at((proxy.file("policy.star", script), folder), modern).await;
        conversation.passes("fetch", text("page")).await;
        conversation.passes("read_vault", text("key")).await;
        let (questions, outcome) =
            conversation.client.converse("send_mail", text("x"), json!({"action": "accept", "content": {}})).await;
        let asked: Vec<&str> = questions.iter().map(message).collect();
        assert_eq!(asked.len(), 2, "{asked:?}");
        assert!(asked[0] == "Do you know what you do?" && asked[1].contains("`send_mail`"), "{asked:?}");
        assert_eq!(outcome["result"]["structuredContent"], text("x"), "{outcome}");
        assert_eq!(conversation.reached(r#""name":"send_mail""#).await, 1);
    }
}

#[tokio::test]
async fn a_tool_that_the_script_made_is_asked_about_once() {
    let script = r#"
tools = {meta.name: (meta, call) for meta, call in backends()["fake"].tools()}
meta, call = tools["send_mail"]
publish(meta.replace(labels = ["egress"]), lambda args: call({"text": "Dear all, " + args["text"]}))
meta, call = tools["note"]
publish(meta.replace(labels = ["secret"]), call)
"#;
    let flow = "flow: {rules: [{when: [secret], then: egress, do: ask}]}";
    for modern in [false, true] {
        let (proxy, folder) = world("legacy", &[], &["sessionInit: { scriptFile: policy.star }", flow]);
        let script = script.replace("lambda args: call(", "lambda args, call = call: call(");
        let mut conversation = Conversation::at((proxy.file("policy.star", &script), folder), modern).await;
        conversation.passes("note", text("s3cret")).await;
        let (questions, outcome) =
            conversation.client.converse("send_mail", text("hi"), json!({"action": "accept", "content": {}})).await;
        assert_eq!(questions.len(), 1, "{questions:?}");
        assert_eq!(outcome["result"]["structuredContent"], text("Dear all, hi"), "{outcome}");
    }
}

#[tokio::test]
async fn a_use_that_passed_before_a_secret_was_read_is_no_consent() {
    // Given an item that sends mail, and whose handler asks something between a secret and the mail
    let script = r#"
tools = {meta.name: call for meta, call in backends()["fake"].tools()}

def sent(args):
    secret = tools["read_vault"]({"text": "s3cret"})
    elicit("Which colour?", {"properties": {"colour": {"type": "string"}}}, when_unavailable = "reject")
    return tools["send_mail"](unwrap(secret))

meta = [meta for meta, call in backends()["fake"].tools() if meta.name == "send_mail"][0]
publish(meta.replace(labels = ["egress"]), sent)
publish(metadata("seen", "", {}, {}), lambda args: tools["seen"](args))
"#;
    let flow = "flow:\n  labels:\n  - {name: read_vault, server: fake, labels: [secret]}\n  - {name: seen, server: fake, labels: []}\n  \
        rules:\n  - {when: [secret], then: egress, do: ask}\n";
    for modern in [false, true] {
        let (proxy, folder) = world("legacy", &[], &["sessionInit: {scriptFile: s.star}", flow]);
        let client = Client::at(proxy.file("s.star", script), modern, elicitation::EVERYTHING).await;
        let mut conversation = Conversation { client, _folder: folder };
        // When a person answers its question, and declines the other one
        let answer = |question: &Value| match message(question).contains("colour") {
            true => json!({"action": "accept", "content": {"colour": "red"}}),
            false => json!({"action": "decline"}),
        };
        let params = json!({"name": "send_mail", "arguments": {}});
        let (questions, outcome) = conversation.client.converse_with("tools/call", params, answer).await;
        // Then they were asked both, and nothing was sent
        assert_eq!(questions.len(), 2, "{questions:?} {outcome}");
        assert!(message(&questions[1]).contains("read_vault` (secret)"), "{questions:?}");
        assert!(outcome.to_string().contains("the user did not agree"), "{outcome}");
    }
}
