//! Whoever approves a call sees all of its arguments, and nothing in them can hide the rest.

use serde_json::{Value, json};

use crate::elicitation::{Client, EVERYTHING};
use crate::support::config::Config;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

/// The question about a call of `echo` with these arguments, and what came of the call when it was accepted.
async fn approved(section: &str, arguments: &Value) -> (String, Value) {
    let config = Config::new().server("fake", &fake_backend(["--only", "echo"])).section(section);
    let script = include_str!("../../scripts/approval.star");
    let proxy = Proxy::new(&config).file("approval.star", script);
    let mut client = Client::at(proxy, false, EVERYTHING).await;
    let tool = if section.contains("preset") { "echo" } else { "fake_echo" };
    let accept = json!({"action": "accept", "content": {}});
    let (questions, outcome) = client.converse(tool, arguments.clone(), accept).await;
    (questions.first().map(|question| question["params"]["message"].to_string()).unwrap_or_default(), outcome)
}

const SECTIONS: [&str; 2] = ["sessionInit: { preset: approval }", "sessionInit: { scriptFile: approval.star }"];

#[tokio::test]
async fn a_long_argument_does_not_push_the_others_out_of_the_question() {
    let long = "x".repeat(20_000);
    let arguments = json!({
        "note": long,
        "options": {"comment": long, "force": true, "targets": [{"why": long, "path": "/etc/passwd"}]},
        "to": "mallory@example.com",
    });
    for section in SECTIONS {
        let (question, outcome) = approved(section, &arguments).await;
        for shown in ["note", "comment", "force", "why", "/etc/passwd", "mallory@example.com", "of 20000 characters"] {
            assert!(question.contains(shown), "{section} {shown}: {question}");
        }
        assert!(question.len() < 4_000, "{section}: {}", question.len());
        // The server gets everything.
        assert_eq!(outcome["result"]["structuredContent"], arguments, "{section}");
    }
}

#[tokio::test]
async fn nothing_hides_at_the_end_of_a_long_text() {
    for section in SECTIONS {
        let command = format!("ls{}; rm -rf ~", " ".repeat(400));
        let (question, _) = approved(section, &json!({ "command": command })).await;
        assert!(question.contains(&command), "{section}: {question}");

        let command = format!("ls{}; rm -rf ~", " ".repeat(60_000));
        let (question, _) = approved(section, &json!({ "command": command })).await;
        assert!(question.contains("; rm -rf ~"), "{section}: {question}");
        assert!(question.contains("[... 59712 of 60012 characters are not shown ...]"), "{section}: {question}");
    }
}

#[tokio::test]
async fn no_key_is_left_out_of_the_question() {
    let mut arguments: serde_json::Map<String, Value> =
        (0..300).map(|number| (format!("key{number:03}"), json!("y".repeat(500)))).collect();
    // They begin alike, and would be one when they are shortened.
    arguments.insert(format!("{}1", "k".repeat(400)), json!("first of two"));
    arguments.insert(format!("{}2", "k".repeat(400)), json!("second of two"));
    let (question, outcome) = approved(SECTIONS[0], &Value::Object(arguments)).await;
    assert!(question.is_empty(), "{}", question.len());
    assert_eq!(outcome["result"]["isError"], true);
    assert!(outcome.to_string().contains("too long to show"), "{outcome}");

    let mut fewer: serde_json::Map<String, Value> =
        (0..100).map(|number| (format!("key{number:03}"), json!("y".repeat(500)))).collect();
    fewer.insert(format!("{}1", "k".repeat(400)), json!("first of two"));
    fewer.insert(format!("{}2", "k".repeat(400)), json!("second of two"));
    let (question, _) = approved(SECTIONS[0], &Value::Object(fewer)).await;
    for number in 0..100 {
        assert!(question.contains(&format!("key{number:03}")), "{number}");
    }
    assert!(question.contains("first of two") && question.contains("second of two"), "{question}");
}

#[tokio::test]
async fn characters_that_nobody_sees_are_written_out_in_the_question() {
    let arguments = json!({"pa\u{202e}th": "safe\u{2066}txt.\u{200b}exe", "more": "\u{1b}[2J\u{e0041}"});
    for section in SECTIONS {
        let (question, outcome) = approved(section, &arguments).await;
        let question: String = serde_json::from_str(&question).expect("a message is text");
        for shown in [r"pa\u{202e}th", r"safe\u{2066}txt.\u{200b}exe", r"\u{e0041}"] {
            assert!(question.contains(shown), "{section}: {question}");
        }
        let is_hidden = |letter: &char| letter.is_control() || ('\u{2000}'..'\u{2070}').contains(letter);
        assert!(!question.chars().any(|letter| is_hidden(&letter)), "{section}: {question:?}");
        assert_eq!(outcome["result"]["structuredContent"], arguments, "{section}");
    }
}
