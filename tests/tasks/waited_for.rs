//! Clients that cannot follow a server's task: the proxy waits for it in their place.

use serde_json::{Value, json};

use super::{Client, ERAS, EXTENSION, FORMS, Over, THEIRS, WAYS, about, by_hand, call, task};
use crate::support::message::{self, Message};

fn accept() -> Value {
    json!({"action": "accept", "content": {"colour": "teal"}})
}

fn assert_done(answer: &Message, context: &str) {
    assert_eq!(answer.text(), "the job is done", "{context}");
    assert!(answer.raw.contains(r#""n":1.10"#), "{context}: {}", answer.raw);
    assert!(!answer.raw.contains("related-task"), "{context}: {}", answer.raw);
}

#[tokio::test]
async fn a_session_based_client_gets_the_result_of_a_tool_that_is_always_a_task() {
    for era in ERAS {
        for over in WAYS {
            for revision in ["2025-11-25", "2025-06-18", "2025-03-26"] {
                let (mut client, _) = Client::in_session(era, over, revision, "{}").await;
                let context = format!("{era} server, {over:?}, {revision}");
                for arguments in [json!({}), json!({"at_once": true})] {
                    assert_done(&client.ask("tools/call", &call("job", arguments)).await, &context);
                }
                let failed = client.ask("tools/call", &call("job", json!({"fail": "result"}))).await;
                assert_eq!(failed.value()["result"]["isError"], true, "{context}");
                let broken = client.ask("tools/call", &call("job", json!({"fail": "error"}))).await;
                assert_eq!((broken.error_code(), broken.error_message().as_str()), (-7, "the job broke"), "{context}");
            }
        }
    }
}

#[tokio::test]
async fn what_such_a_task_asks_reaches_the_client_of_the_call() {
    for era in ERAS {
        for over in WAYS {
            let (mut client, _) = Client::in_session(era, over, "2025-11-25", FORMS).await;
            let (questions, outcome) =
                client.converse("tools/call", &call("job", json!({"ask": true})), &accept()).await;
            assert_eq!(questions.len(), 1, "{era}, {over:?}: {}", outcome.raw);
            assert_eq!(questions[0]["message"], "Which colour?");
            assert!(!questions[0].to_string().contains(THEIRS), "{}", questions[0]);
            assert_done(&outcome, era);
            assert!(outcome.raw.contains("teal"), "{}", outcome.raw);
        }
    }
}

#[tokio::test]
async fn a_stateless_client_gets_the_result_of_a_session_based_server_s_task() {
    for over in WAYS {
        for capabilities in ["{}", EXTENSION, FORMS] {
            let mut client = Client::of("legacy", over, json!({}), "").await;
            // The wish for a task means nothing in this era.
            for params in [call("job", json!({})), task("job", json!({}))] {
                let answer = client.modern("tools/call", &params, capabilities).await;
                assert_done(&answer, capabilities);
                assert_eq!(answer.value()["result"]["resultType"], "complete");
            }
            let plain = client.modern("tools/call", &task("maybe", json!({})), capabilities).await;
            assert_eq!(plain.text(), "done at once");
        }
        let mut client = Client::of("legacy", over, json!({}), "").await;
        let mut params = call("job", json!({"ask": true}));
        let asked = client.modern("tools/call", &params, FORMS).await.value()["result"].clone();
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let key = asked["inputRequests"].as_object().and_then(|asked| asked.keys().next()).expect("a question").clone();
        params["inputResponses"] = json!({ key: accept() });
        params["requestState"] = asked["requestState"].clone();
        let answer = client.modern("tools/call", &params, FORMS).await;
        assert_done(&answer, "after a question");
        assert!(answer.raw.contains("teal"), "{}", answer.raw);
    }
}

const WRAPPED: &str = r#"
sessionInit:
  script: |
    def wrap(call):
        return lambda args: call(args)

    for meta, call in backends()["fake"].tools():
        publish(meta, wrap(call) if meta.name == "job" else call)
"#;

#[tokio::test]
async fn a_script_waits_for_the_task_of_the_tool_it_calls() {
    for era in ERAS {
        for over in WAYS {
            let mut client = Client::of(era, over, json!({}), WRAPPED).await;
            client.initialize("2025-11-25", FORMS).await;
            let listed = client.ask("tools/list", &json!({})).await.value();
            let tools = listed["result"]["tools"].as_array().expect("tools");
            let job = tools.iter().find(|tool| tool["name"] == "job").expect("the job");
            assert_eq!(job.get("execution"), None, "a handler is no task");
            assert_eq!(client.ask("tools/call", &task("job", json!({}))).await.error_code(), -32601);
            let (questions, outcome) =
                client.converse("tools/call", &call("job", json!({"ask": true})), &accept()).await;
            assert_eq!((questions.len(), outcome.text().as_str()), (1, "the job is done"), "{era}, {over:?}");
        }
    }
}

#[tokio::test]
async fn a_call_that_is_cancelled_ends_its_task() {
    for era in ERAS {
        for over in WAYS {
            for sections in ["", WRAPPED] {
                let mut client = Client::of(era, over, json!({}), sections).await;
                client.initialize("2025-11-25", "{}").await;
                let begun = client.begin("tools/call", &call("job", json!({"hold": true}))).await;
                // It is being waited for.
                client.seen(if era == "legacy" { "tasks/result" } else { "tasks/get" }).await;
                let params = format!(r#"{{"requestId":{}}}"#, begun.id);
                client.say(&message::notification("notifications/cancelled", &params)).await;
                let seen = client.seen("tasks/cancel").await;
                assert!(seen.contains(THEIRS), "{era}, {over:?}: {seen}");
            }
        }
    }
}

#[tokio::test]
async fn a_stateless_client_that_goes_away_ends_the_task_it_waited_for() {
    let mut client = Client::of("legacy", Over::Http, json!({}), "").await;
    let held = by_hand("tools/call", &call("job", json!({"hold": true})), "{}");
    let connection = client.http().send_and_leave_open(&held).await;
    let waits = call("seen", json!({"wait_for": "tasks/result"}));
    client.modern("tools/call", &waits, "{}").await.result();
    drop(connection);
    let ended = call("seen", json!({"wait_for": "tasks/cancel"}));
    assert!(client.modern("tools/call", &ended, "{}").await.raw.contains(THEIRS));
}

#[tokio::test]
async fn a_task_that_nobody_can_answer_is_ended() {
    let (mut client, _) = Client::in_session("modern", Over::Pipes, "2025-11-25", "{}").await;
    let answer = client.ask("tools/call", &call("job", json!({"ask": true}))).await;
    assert_eq!(answer.value()["result"]["isError"], true, "{}", answer.raw);
    assert!(answer.text().contains("elicitation/create"), "{}", answer.raw);
    client.seen("tasks/cancel").await;
}

#[tokio::test]
async fn a_task_that_takes_too_long_is_ended() {
    for era in ERAS {
        let limits = json!({"timeout": "300ms", "maxTimeout": "300ms"});
        let mut client = Client::of(era, Over::Pipes, limits, "").await;
        client.initialize("2025-11-25", "{}").await;
        let answer = client.ask("tools/call", &call("job", json!({"hold": true}))).await;
        assert!(answer.text().contains("did not respond within"), "{era}: {}", answer.raw);
        client.ask("tasks/get", &about("x")).await;
        client.seen("tasks/cancel").await;
    }
}
