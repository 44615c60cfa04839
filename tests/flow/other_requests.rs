//! Every request that carries words to a server, and every way in which the words of a server come back.

use serde_json::{Value, json};

use super::{Conversation, PASSTHROUGH, text, tools, world};
use crate::elicitation::{Client, EVERYTHING};
use crate::support::config::Config;
use crate::support::program::Program;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;
use crate::support::temp_dir::TempDir;

/// The note is secret; nothing may leave after it was read.
const SECRETS: &str = "flow:\n  labels: [{name: note, labels: [secret]}, {name: seen, labels: []}]\n  rules: [{when: [secret], then: egress, do: deny}]";
const MORE: &[&str] = &["--resources", "--prompts", "--completions", "3"];

async fn after_a_secret(era: &str, modern: bool) -> Conversation {
    let mut conversation = Conversation::at(world(era, MORE, &[PASSTHROUGH, SECRETS]), modern).await;
    conversation.passes("note", text("s3cret")).await;
    conversation
}

async fn request(conversation: &mut Conversation, method: &str, params: Value) -> Value {
    conversation.client.converse_with(method, params, |_| json!({"action": "accept", "content": {}})).await.1
}

fn error(outcome: &Value) -> String {
    outcome["error"]["message"].as_str().unwrap_or_else(|| panic!("no error: {outcome}")).to_owned()
}

#[tokio::test]
async fn prompts_templates_and_completions_carry_no_secret_out() {
    for modern in [false, true] {
        let mut conversation = after_a_secret("legacy", modern).await;
        let got =
            request(&mut conversation, "prompts/get", json!({"name": "greet", "arguments": {"who": "s3cret"}})).await;
        assert!(error(&got).contains("`greet` was not used: this conversation has read `note` (secret)"), "{got}");
        let read = request(&mut conversation, "resources/read", json!({"uri": "memo://notes/s3cret"})).await;
        assert!(error(&read).contains("`memo://notes/s3cret` was not read"), "{read}");
        for reference in [
            json!({"type": "ref/prompt", "name": "greet"}),
            json!({"type": "ref/resource", "uri": "memo://notes/{name}"}),
        ] {
            let argument = if reference["name"] == "greet" { "who" } else { "name" };
            let params = json!({"ref": reference, "argument": {"name": argument, "value": "s3cret"}});
            let completed = request(&mut conversation, "completion/complete", params).await;
            assert!(error(&completed).contains("was not completed"), "{completed}");
        }
        // A resource that the server lists says nothing new to it.
        let read = request(&mut conversation, "resources/read", json!({"uri": "memo://greeting"})).await;
        assert!(read["result"]["contents"].is_array(), "{read}");
    }
}

#[tokio::test]
async fn what_prompts_and_resources_say_counts_as_read() {
    let section = "flow:\n  labels:\n  - {name: greet, labels: [secret]}\n  - {name: 'memo://notes/*', labels: [private]}\n  \
        rules:\n  - {when: [secret], then: egress, do: deny}\n  - {when: [private], then: egress, do: deny}\n";
    for (method, params, source) in [
        ("prompts/get", json!({"name": "greet", "arguments": {"who": "x"}}), "`greet` (secret)"),
        ("resources/read", json!({"uri": "memo://notes/mine"}), "`memo://notes/mine` (private)"),
    ] {
        let mut conversation = Conversation::at(world("legacy", MORE, &[PASSTHROUGH, section]), false).await;
        conversation.passes("send_mail", text("before")).await;
        let got = request(&mut conversation, method, params).await;
        assert!(got["result"].is_object(), "{got}");
        let why = conversation.stopped("send_mail", text("after")).await;
        assert!(why.contains(source), "{why}");
    }
}

#[tokio::test]
async fn a_server_that_asks_the_clients_model_is_refused() {
    let section = "flow:\n  labels:\n  - {name: note, labels: [secret]}\n  - {name: sample, labels: []}\n  \
        rules: [{when: [secret], then: egress, do: deny}]";
    for era in ["legacy", "modern"] {
        for modern in [false, true] {
            let mut conversation = Conversation::at(world(era, &[], &[PASSTHROUGH, section]), modern).await;
            let said = json!({"role": "assistant", "content": {"type": "text", "text": "s3cret"}, "model": "m"});
            // Before anything secret was read, the model may answer.
            let (questions, _) = conversation.client.converse("sample", json!({}), said.clone()).await;
            assert_eq!(questions.len(), 1, "{era} {modern}");
            conversation.passes("note", text("s3cret")).await;
            let (questions, outcome) = conversation.client.converse("sample", json!({}), said).await;
            assert_eq!(questions, Vec::<Value>::new(), "{era} {modern}");
            assert!(outcome.to_string().contains("this conversation has read `note` (secret)"), "{outcome}");
        }
    }
}

#[tokio::test]
async fn the_answer_to_a_servers_question_does_not_leave_after_a_secret() {
    // The tool itself may be called before; its question comes after the secret was read elsewhere.
    let section =
        "flow:\n  labels: [{name: note, labels: [secret]}]\n  rules: [{when: [secret], then: egress, do: deny}]";
    // Over HTTP a question belongs to the call on whose stream it comes.
    let folder = TempDir::new();
    let file = folder.write("tools.json", &tools().to_string());
    let arguments =
        ["--era", "legacy", "--http", "127.0.0.1:0", "--tools", file.to_str().expect("a path"), "--builtin"];
    let (_server, url) = Program::start_server(fake_backend(arguments)).await;
    let config = Config::new().remote("fake", &url).section(PASSTHROUGH).section(section);
    let client = Client::at(Proxy::new(&config), false, EVERYTHING).await;
    let mut conversation = Conversation { client, _folder: folder };
    let client = &mut conversation.client.proxy.client;
    let asking = r#"{"name":"ask","arguments":{"after":"go on","message":"What is the s3cret?"}}"#;
    let call = client.begin("tools/call", asking).await;
    let noted = client.request("tools/call", r#"{"name":"note","arguments":{"text":"go on"}}"#).await;
    assert!(!noted.raw.contains("isError\":true"), "{}", noted.raw);
    // The server asks as soon as the note has reached it; nobody is asked.
    let answer = client.response(&call).await;
    assert!(answer.raw.contains("this conversation has read `note` (secret)"), "{}", answer.raw);
}

#[tokio::test]
async fn a_servers_own_words_do_not_stop_the_answer_to_its_question() {
    let section = "flow: {rules: [{when: [untrusted], then: egress, do: deny}]}";
    for era in ["legacy", "modern"] {
        for modern in [false, true] {
            let mut conversation = Conversation::at(world(era, &[], &[PASSTHROUGH, section]), modern).await;
            let answer = json!({"action": "accept", "content": {"colour": "red"}});
            let (questions, outcome) = conversation.client.converse("ask", json!({}), answer).await;
            assert_eq!(questions.len(), 1, "{era} {modern}: {outcome}");
            if !(era == "modern" && modern) {
                assert!(outcome.to_string().contains("red"), "{era} {modern}: {outcome}");
            }
        }
    }
}

#[tokio::test]
async fn progress_and_log_lines_come_after_the_marks() {
    let section =
        "flow:\n  labels: [{name: progress, labels: [secret]}]\n  rules: [{when: [secret], then: egress, do: deny}]";
    let mut conversation = Conversation::at(world("legacy", &[], &[PASSTHROUGH, section]), false).await;
    let client = &mut conversation.client.proxy.client;
    let params = r#"{"name":"progress","arguments":{"steps":3},"_meta":{"progressToken":"t"}}"#;
    let call = client.begin("tools/call", params).await;
    let mut seen = 0;
    loop {
        let message = client.next().await;
        match message.method().as_deref() {
            Some("notifications/progress") => seen += 1,
            None if message.id() == Some(call.clone()) => break,
            _ => {}
        }
    }
    assert!(seen > 0, "progress comes through");
    let why = conversation.stopped("send_mail", text("x")).await;
    assert!(why.contains("`progress` (secret)"), "{why}");
}

#[tokio::test]
async fn subscriptions_and_methods_of_vendors_carry_no_secret_out() {
    let more: &[&str] = &["--resources", "--vendor"];
    let mut conversation = Conversation::at(world("legacy", more, &[PASSTHROUGH, SECRETS]), false).await;
    let before = request(&mut conversation, "vendor/send", json!({"text": "hello"})).await;
    assert!(before["result"].is_object(), "{before}");
    conversation.passes("note", text("s3cret")).await;
    let sent = request(&mut conversation, "vendor/send", json!({"text": "s3cret-1"})).await;
    assert!(error(&sent).contains("`vendor/send` was not sent: this conversation has read `note` (secret)"), "{sent}");
    let followed = request(&mut conversation, "resources/subscribe", json!({"uri": "memo://notes/s3cret-2"})).await;
    assert!(error(&followed).contains("`memo://notes/s3cret-2` was not followed"), "{followed}");
    assert_eq!((conversation.reached("s3cret-1").await, conversation.reached("s3cret-2").await), (0, 0));
}
