//! What a server asks while no call runs, after a secret was read: who is asked, and what the audit log says of it.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Conversation, PASSTHROUGH, audited, text, world};
use crate::support::message::Message;
use crate::support::temp_dir::TempDir;

/// The note is secret, and `ask` is called after it was read.
const LABELS: &str = "labels: [{name: ask, labels: []}, {name: note, labels: [secret]}, {name: seen, labels: []}]";

/// A conversation on standard input that has read a secret, after which the server asks something, and the audit log.
async fn asked_after_a_secret(action: &str) -> (Conversation, PathBuf) {
    let flow = format!("flow: {{{LABELS}, rules: [{{when: [secret], then: egress, do: {action}}}]}}");
    let (proxy, folder): (_, TempDir) = world("legacy", &[], &[PASSTHROUGH, &flow, "audit: {file: audit.jsonl}"]);
    let log = proxy.directory.path().join("audit.jsonl");
    let mut conversation = Conversation::at((proxy, folder), false).await;
    conversation.passes("note", text("s3cret")).await;
    // It asks after its answer.
    conversation.call("ask", json!({"later": true, "message": "What is new?"})).await;
    (conversation, log)
}

impl Conversation {
    /// The next question; it is answered like this.
    async fn answers(&mut self, answer: Value) -> Message {
        let client = &mut self.client.proxy.client;
        let question = client.expect_notification("elicitation/create").await;
        let id = question.id().expect("an id");
        client.send(&crate::support::message::result(&id, &answer.to_string())).await;
        question
    }
}

#[tokio::test]
async fn a_denied_question_between_calls_is_in_the_audit_log() {
    let (mut conversation, log) = asked_after_a_secret("deny").await;
    assert_eq!(conversation.waits_for("this conversation has read `note` (secret)").await, 1);
    let line = audited(&log, "server_question").await;
    assert_eq!((&line["outcome"], &line["policy"]["by"]), (&json!("denied"), &json!("flow")), "{line}");
    assert_eq!(line["target"], json!({"method": "elicitation/create", "server": "fake"}));
    let decided = json!([{"action": "deny", "marks": ["secret"], "then": "egress", "item": "elicitation/create"}]);
    assert_eq!(line["flow"], decided);
    assert!(line["policy"]["at"].as_str().is_some_and(|at| at.starts_with("proxy.yaml:")), "{line}");
    let why = "`elicitation/create` was not sent: this conversation has read `note` (secret)";
    assert_eq!(line["policy"]["why"], why, "{line}");
    assert!(line["policy"]["digest"].as_str().is_some_and(|digest| digest.starts_with("sha256:")), "{line}");
    assert!(line["subject"]["sub"].is_string() && line["subject"]["anonymous"] != true, "{line}");
}

#[tokio::test]
async fn a_person_agrees_once_to_answer_a_question_between_calls() {
    let (mut conversation, log) = asked_after_a_secret("ask").await;
    let consent = conversation.answers(json!({"action": "accept", "content": {}})).await;
    assert!(consent.raw.contains("`note` (secret)") && consent.raw.contains("`fake`"), "{}", consent.raw);
    let asked = conversation.answers(json!({"action": "accept", "content": {"colour": "plain"}})).await;
    assert!(asked.raw.contains("What is new?"), "{}", asked.raw);
    // The answer goes to the server at once.
    assert_eq!(conversation.waits_for("plain").await, 1);
    let line = audited(&log, "server_question").await;
    assert_eq!(line["outcome"], "success", "{line}");
    assert_eq!((&line["flow"][0]["action"], &line["flow"][0]["agreed"]), (&json!("ask"), &json!(true)), "{line}");
    assert_eq!(line["flow"].as_array().map(Vec::len), Some(1), "{line}");
}

#[tokio::test]
async fn a_person_who_does_not_agree_is_not_asked_the_question() {
    let (mut conversation, log) = asked_after_a_secret("ask").await;
    conversation.answers(json!({"action": "decline"})).await;
    assert_eq!(conversation.waits_for("the user did not agree to it").await, 1);
    let line = audited(&log, "server_question").await;
    assert_eq!((&line["outcome"], &line["flow"][0]["agreed"]), (&json!("denied"), &json!(false)), "{line}");
}
