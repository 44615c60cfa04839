//! A session-based client and a session-based server that both know tasks.

use serde_json::{Value, json};

use super::{Client, FORMS, Over, RELATED, THEIRS, WAYS, about, begun, call, server, task};
use crate::support::config::Config;
use crate::support::in_process::Proxy;
use crate::support::message::Message;

const REVISION: &str = "2025-11-25";

fn tool<'a>(listed: &'a Value, name: &str) -> &'a Value {
    let tools = listed["result"]["tools"].as_array().expect("tools");
    tools.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("no {name} in {listed}"))
}

fn status(answer: &Message) -> String {
    answer.value()["result"]["status"].as_str().unwrap_or_else(|| panic!("no status in {}", answer.raw)).to_owned()
}

#[tokio::test]
async fn a_client_begins_a_task_looks_at_it_and_ends_it() {
    for over in WAYS {
        let (mut client, told) = Client::in_session("legacy", over, REVISION, "{}").await;
        assert_eq!(told["capabilities"]["tasks"], json!({"cancel": {}, "requests": {"tools": {"call": {}}}}));
        let listed = client.ask("tools/list", &json!({})).await.value();
        assert_eq!(tool(&listed, "job")["execution"]["taskSupport"], "required");
        let first = client.ask("tools/call", &task("job", json!({"hold": true}))).await;
        assert!(first.raw.contains(r#""x-kept":1.10"#), "{}", first.raw);
        let id = begun(&first);
        let looked = client.ask("tasks/get", &about(&id)).await;
        assert_eq!((status(&looked).as_str(), begun(&looked)), ("working", id.clone()));
        let ended = client.ask("tasks/cancel", &about(&id)).await;
        assert_eq!((status(&ended).as_str(), begun(&ended)), ("cancelled", id.clone()));
        assert_eq!(client.ask("tasks/cancel", &about(&id)).await.error_code(), -32602);
        assert_eq!(status(&client.ask("tasks/get", &about(&id)).await), "cancelled");
        let seen = client.seen("tasks/cancel").await;
        assert!(seen.contains(THEIRS) && !seen.contains(&id), "{seen}");
    }
}

#[tokio::test]
async fn a_task_asks_its_client_while_the_client_waits_for_its_result() {
    for over in WAYS {
        let (mut client, _) = Client::in_session("legacy", over, REVISION, FORMS).await;
        let id = begun(&client.ask("tools/call", &task("job", json!({"ask": true}))).await);
        assert_eq!(status(&client.ask("tasks/get", &about(&id)).await), "input_required");
        let related = json!({ RELATED: {"taskId": id} });
        let answer = json!({"action": "accept", "content": {"colour": "teal"}, "_meta": related});
        let (questions, outcome) = client.converse("tasks/result", &about(&id), &answer).await;
        assert_eq!(questions.len(), 1, "{over:?}: {}", outcome.raw);
        assert_eq!(questions[0]["_meta"], json!({"x/kept": 1, RELATED: {"taskId": id}}));
        let result = outcome.value()["result"].clone();
        assert_eq!(result["_meta"], json!({"x/kept": 1, RELATED: {"taskId": id}}));
        assert!(outcome.raw.contains(r#""n":1.10"#), "{}", outcome.raw);
        // What the server got names the task as the server does.
        let got = result["structuredContent"]["answer"]["result"].clone();
        assert_eq!(got["content"]["colour"], "teal", "{}", outcome.raw);
        assert_eq!(got["_meta"][RELATED]["taskId"], THEIRS);
    }
}

#[tokio::test]
async fn who_waits_for_a_task_hears_of_it_and_can_end_it_meanwhile() {
    for over in WAYS {
        // Waiting is no work: it does not take the only place.
        let mut client = Client::of("legacy", over, json!({"maxConcurrent": 1}), "").await;
        client.initialize(REVISION, "{}").await;
        let id = begun(&client.ask("tools/call", &task("job", json!({"hold": true}))).await);
        let mut waiting = client.begin("tasks/result", &about(&id)).await;
        let told = client.next(&mut waiting).await;
        assert_eq!(told.method().as_deref(), Some("notifications/tasks/status"), "{}", told.raw);
        assert_eq!(told.value()["params"]["taskId"], id.as_str());
        assert_eq!(status(&client.ask("tasks/cancel", &about(&id)).await), "cancelled");
        // The status of tasks that are not this client's is not told: the next message is the outcome.
        let outcome = client.next(&mut waiting).await;
        assert_eq!(outcome.error_message(), "the task was cancelled", "{}", outcome.raw);
    }
}

#[tokio::test]
async fn a_task_that_fails_does_so_as_the_server_says() {
    let (mut client, _) = Client::in_session("legacy", Over::Pipes, REVISION, "{}").await;
    let id = begun(&client.ask("tools/call", &task("job", json!({"fail": "result"}))).await);
    assert_eq!(status(&client.ask("tasks/get", &about(&id)).await), "failed");
    assert_eq!(client.ask("tasks/result", &about(&id)).await.value()["result"]["isError"], true);
    let id = begun(&client.ask("tools/call", &task("job", json!({"fail": "error"}))).await);
    assert_eq!(client.ask("tasks/result", &about(&id)).await.error_code(), -7);
}

#[tokio::test]
async fn what_is_no_task_cannot_be_had_as_one() {
    for over in WAYS {
        let (mut client, _) = Client::in_session("legacy", over, REVISION, "{}").await;
        assert_eq!(client.ask("tools/call", &task("echo", json!({}))).await.error_code(), -32601);
        assert_eq!(client.ask("tools/call", &task("nothing", json!({}))).await.error_code(), -32602);
        assert_eq!(client.ask("tools/call", &call("maybe", json!({}))).await.text(), "done at once");
        assert_eq!(client.ask("tasks/list", &json!({})).await.error_code(), -32601);
        assert_eq!(client.ask("tasks/update", &json!({})).await.error_code(), -32601);
        // A result that merely looks like a task is a result.
        let looks_so = json!({"result": {"content": [], "task": {"taskId": "x"}}});
        let answer = client.ask("tools/call", &call("raw", looks_so)).await;
        assert_eq!(answer.value()["result"]["task"]["taskId"], "x", "{}", answer.raw);
    }
}

#[tokio::test]
async fn made_up_and_changed_ids_are_of_no_task() {
    for over in WAYS {
        let (mut client, _) = Client::in_session("legacy", over, REVISION, "{}").await;
        let id = begun(&client.ask("tools/call", &task("job", json!({"hold": true}))).await);
        let changed = if id.starts_with('B') { id.replacen('B', "C", 1) } else { format!("B{}", &id[1..]) };
        for wrong in [THEIRS, "", "made-up", &changed] {
            for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
                assert_eq!(client.ask(method, &about(wrong)).await.error_code(), -32602, "{method} {wrong}");
            }
        }
        assert_eq!(client.ask("tasks/get", &json!({})).await.error_code(), -32602);
        assert_eq!(status(&client.ask("tasks/get", &about(&id)).await), "working");
    }
}

#[tokio::test]
async fn two_servers_may_give_the_same_id() {
    let config = Config::new().server("one", &server("legacy")).server("two", &server("legacy"));
    let mut proxy = Proxy::new(&config).stdio();
    let client = &mut proxy.client;
    client.initialize(REVISION).await.result();
    let wanted = |names: &[String]| names.iter().filter(|name| name.ends_with("job")).count() == 2;
    let names = client.tools_until(wanted).await;
    let mut ids = Vec::new();
    for name in names.iter().filter(|name| name.ends_with("job")) {
        ids.push(begun(&client.request("tools/call", &task(name, json!({"hold": true})).to_string()).await));
    }
    assert_ne!(ids[0], ids[1]);
    assert_eq!(status(&client.request("tasks/cancel", &about(&ids[0]).to_string()).await), "cancelled");
    assert_eq!(status(&client.request("tasks/get", &about(&ids[1]).to_string()).await), "working");
}

#[tokio::test]
async fn older_clients_and_those_of_servers_without_tasks_see_none() {
    for (era, revision) in [("legacy", "2025-06-18"), ("modern", REVISION)] {
        let (mut client, told) = Client::in_session(era, Over::Pipes, revision, "{}").await;
        assert_eq!(told["capabilities"].get("tasks"), None, "{told}");
        assert_eq!(told["capabilities"].get("extensions"), None, "{told}");
        let listed = client.ask("tools/list", &json!({})).await.value();
        assert_eq!(tool(&listed, "job").get("execution"), None, "{era}");
        for method in ["tasks/get", "tasks/result", "tasks/cancel", "tasks/list"] {
            assert_eq!(client.ask(method, &about("x")).await.error_code(), -32601, "{era} {method}");
        }
    }
    let (mut client, _) = Client::in_session("modern", Over::Pipes, REVISION, "{}").await;
    assert_eq!(client.ask("tools/call", &task("job", json!({}))).await.error_code(), -32601);
    // A revision without tasks has no wish for one either.
    let (mut client, _) = Client::in_session("legacy", Over::Pipes, "2025-06-18", "{}").await;
    assert_eq!(client.ask("tools/call", &task("job", json!({}))).await.text(), "the job is done");
}
