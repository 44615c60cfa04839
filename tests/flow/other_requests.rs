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
async fn completions_by_the_script_count_as_its_item_does() {
    // Given a prompt of the script whose arguments have secret values, and another that sends them out
    let script = r#"
tools = {meta.name: call for meta, call in backends()["fake"].tools()}
publish(metadata("send_mail", "", {}, {}), lambda args: tools["send_mail"](args))
who = [{"name": "who", "required": True}]
names = {"who": lambda value, context: ["s3cret-of-" + value]}
publish_prompt(prompt_metadata("write", "", who).replace(labels = ["secret"]), lambda args: "x", complete = names)
publish_prompt(prompt_metadata("ask_out", "", who).replace(labels = ["egress"]), lambda args: "x", complete = names)
"#;
    let section = "flow: {rules: [{when: [secret], then: egress, do: ask}]}";
    for modern in [false, true] {
        let (proxy, folder) = world("legacy", &[], &["sessionInit: {scriptFile: s.star}", section]);
        let client = Client::at(proxy.file("s.star", script), modern, EVERYTHING).await;
        let mut conversation = Conversation { client, _folder: folder };
        let complete = |name: &str| json!({"ref": {"type": "ref/prompt", "name": name}, "argument": {"name": "who", "value": "ann"}});
        let values = |outcome: &Value| outcome["result"]["completion"]["values"].clone();
        let out = request(&mut conversation, "completion/complete", complete("ask_out")).await;
        assert_eq!(values(&out), json!(["s3cret-of-ann"]), "{out}");
        conversation.passes("send_mail", text("before")).await;
        // When the secret values were offered
        let completed = request(&mut conversation, "completion/complete", complete("write")).await;
        assert_eq!(values(&completed), json!(["s3cret-of-ann"]), "{completed}");
        // Then nothing is sent without a question, and a completion cannot ask
        let (questions, _) = conversation.client.converse("send_mail", text("x"), json!({"action": "decline"})).await;
        assert!(questions[0].to_string().contains("`write` (secret)"), "{questions:?}");
        let out = request(&mut conversation, "completion/complete", complete("ask_out")).await;
        assert!(
            error(&out).contains("`ask_out` was not completed: this conversation has read `write` (secret)"),
            "{out}"
        );
    }
}

#[tokio::test]
async fn completions_by_the_script_for_a_forwarded_prompt_count_as_the_prompt_does() {
    // Given a prompt of the server, which is labelled by the script or by the config, and completed by the script
    let script = r#"
tools = {meta.name: call for meta, call in backends()["fake"].tools()}
publish(metadata("send_mail", "", {}, {}), lambda args: tools["send_mail"](args))
names = {"who": lambda value, context: ["s3cret-of-" + value]}
for meta, call in backends()["fake"].prompts():
    if meta.name == "greet":
        publish_prompt(meta.replace(LABELS), call, complete = names)
"#;
    for (by_script, by_config) in [
        (r#"labels = ["secret"]"#, ""),
        ("title = \"Greet\"", "labels: [{name: greet, server: fake, labels: [secret]}], "),
    ] {
        let section = format!("flow: {{{by_config}rules: [{{when: [secret], then: egress, do: deny}}]}}");
        let (proxy, folder) = world("legacy", MORE, &["sessionInit: {scriptFile: s.star}", &section]);
        let script = script.replace("LABELS", by_script);
        let client = Client::at(proxy.file("s.star", &script), false, EVERYTHING).await;
        let mut conversation = Conversation { client, _folder: folder };
        conversation.passes("send_mail", text("before")).await;
        // When the secret values were offered
        let params =
            json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who", "value": "ann"}});
        let completed = request(&mut conversation, "completion/complete", params).await;
        assert_eq!(completed["result"]["completion"]["values"], json!(["s3cret-of-ann"]), "{completed}");
        // Then nothing is sent
        let why = conversation.stopped("send_mail", text("after")).await;
        assert!(why.contains("`greet` (secret)"), "{why}");
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
    let noted = client.request("tools/call", r#"{"name":"note","arguments":{"text":"s3cret"}}"#).await;
    assert!(!noted.raw.contains("isError\":true"), "{}", noted.raw);
    // The server asks as soon as the next note has reached it; nobody is asked.
    client.request("tools/call", r#"{"name":"note","arguments":{"text":"go on"}}"#).await.result();
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
            assert!(outcome.to_string().contains("red"), "{era} {modern}: {outcome}");
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

#[tokio::test]
async fn an_answer_does_not_leave_if_a_secret_was_read_while_the_question_was_open() {
    let accepted = json!({"action": "accept", "content": {"colour": "the key"}});
    for era in ["legacy", "modern"] {
        for action in ["deny", "ask"] {
            // Given a question of a server that is open at a stateless client
            let section = SECRETS.replace("deny", action);
            let mut conversation = Conversation::at(world(era, &[], &[PASSTHROUGH, &section]), true).await;
            let mut asking = json!({"name": "ask", "arguments": {}});
            let asked = conversation.client.modern_request("tools/call", &asking).await.value();
            let key = asked["result"]["inputRequests"].as_object().expect("a question").keys().next().expect("one");
            // When a secret is read before the answer
            conversation.passes("note", text("s3cret")).await;
            asking["inputResponses"] = json!({key.as_str(): accepted});
            asking["requestState"] = asked["result"]["requestState"].clone();
            let params = asking.clone();
            let decline = json!({"action": "decline"});
            let (questions, outcome) =
                conversation.client.converse_with("tools/call", params, |_| decline.clone()).await;
            // Then the server does not get the answer; with `ask`, a person has said so
            assert_eq!(questions.len(), usize::from(action == "ask"), "{era} {action}: {questions:?} {outcome}");
            assert_eq!(conversation.reached("the key").await, 0, "{era} {action}: {outcome}");
            assert!(outcome.to_string().contains("`ask` was not called"), "{era} {action}: {outcome}");
        }
    }
}

#[tokio::test]
async fn what_a_server_asks_between_calls_gets_no_secret() {
    // Given a client on standard input that has read nothing secret
    let section = SECRETS.replace("labels: [{", "labels: [{name: ask, labels: []}, {");
    let mut conversation = Conversation::at(world("legacy", &[], &[PASSTHROUGH, &section]), false).await;
    let later = json!({"later": true, "message": "What is new?"});
    conversation.call("ask", later.clone()).await;
    // When the server asks after its answer, then the client is asked
    let question = conversation.client.proxy.client.expect_notification("elicitation/create").await;
    let answer = json!({"action": "accept", "content": {"colour": "plain"}});
    let id = question.id().expect("an id");
    conversation.client.proxy.client.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{answer}}}"#)).await;
    assert_eq!(conversation.waits_for("plain").await, 1);
    // But not after a secret was read
    conversation.passes("note", text("s3cret")).await;
    conversation.call("ask", later).await;
    assert_eq!(conversation.waits_for("this conversation has read `note` (secret)").await, 1);
}

#[tokio::test]
async fn a_question_that_may_be_of_either_of_two_calls_is_judged_as_both() {
    // Given a call of a tool that deals with strangers, which goes on
    let section = SECRETS.replace("labels: [{", "labels: [{name: ask, labels: []}, {");
    let mut conversation = Conversation::at(world("legacy", &[], &[PASSTHROUGH, &section]), false).await;
    let stall = json!({"name": "stall", "arguments": {"text": "of strangers"}});
    conversation.client.proxy.client.begin("tools/call", &stall.to_string()).await;
    assert_eq!(conversation.waits_for("of strangers").await, 1);
    // When a secret is read meanwhile, and the server asks without saying for which of its calls
    conversation.passes("note", text("s3cret")).await;
    let accepted = json!({"action": "accept", "content": {"colour": "the key"}});
    let (_, outcome) = conversation.client.converse("ask", json!({}), accepted).await;
    // Then it gets no answer
    assert!(
        outcome.to_string().contains("`stall` was not called: this conversation has read `note` (secret)"),
        "{outcome}"
    );
    assert_eq!(conversation.reached("the key").await, 0);
}

#[tokio::test]
async fn an_item_of_the_script_marks_before_it_asks() {
    let script = r#"
tools = {meta.name: call for meta, call in backends()["fake"].tools()}

def tells(args):
    return elicit("The key is s3cret", {"properties": {"colour": {"type": "string"}}}, when_unavailable = "reject").action

publish(metadata("tells", "", {}, {}).replace(labels = ["secret"]), tells)
publish(metadata("send_mail", "", {}, {}), lambda args: tools["send_mail"](args))
"#;
    let section = "flow: {rules: [{when: [secret], then: egress, do: deny}]}";
    for modern in [false, true] {
        let (proxy, folder) = world("legacy", &[], &["sessionInit: {scriptFile: s.star}", section]);
        let proxy = proxy.file("s.star", script);
        let mut conversation =
            Conversation { client: crate::elicitation::Client::at(proxy, modern, EVERYTHING).await, _folder: folder };
        // Given a call whose question is never answered
        let params = json!({"name": "tells", "arguments": {}});
        match modern {
            true => drop(conversation.client.modern_request("tools/call", &params).await),
            false => {
                conversation.client.proxy.client.begin("tools/call", &params.to_string()).await;
                let question = conversation.client.proxy.client.next().await;
                assert!(question.raw.contains("s3cret"), "{}", question.raw);
            }
        }
        // Then what it told counts as read
        let why = conversation.stopped("send_mail", text("s3cret")).await;
        assert!(why.contains("`tells` (secret)"), "{why}");
    }
}
