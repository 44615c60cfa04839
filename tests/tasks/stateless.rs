//! A stateless client that declares the tasks extension and a stateless server that has it.

use serde_json::{Value, json};

use super::{Client, EXTENSION, Over, THEIRS, WAYS, about, begun, by_hand, call, server};
use crate::support::config::Config;
use crate::support::http_request::HttpRequest;
use crate::support::in_process::Proxy;
use crate::support::message::Message;
use crate::support::program::Program;

async fn client(over: Over) -> Client {
    Client::of("modern", over, json!({}), "").await
}

fn part(answer: &Message, name: &str) -> Value {
    answer.value()["result"][name].clone()
}

#[tokio::test]
async fn a_client_begins_a_task_answers_it_and_reads_its_result() {
    for over in WAYS {
        let mut client = client(over).await;
        let known = client.modern("server/discover", &json!({}), EXTENSION).await.value();
        assert!(known["result"]["capabilities"]["extensions"]["io.modelcontextprotocol/tasks"].is_object(), "{known}");
        let first = client.modern("tools/call", &call("job", json!({"ask": true})), EXTENSION).await;
        assert_eq!(part(&first, "resultType"), "task");
        assert_eq!(part(&first, "ttlMs"), 60000);
        let id = begun(&first);
        let asking = client.modern("tasks/get", &about(&id), EXTENSION).await;
        assert_eq!(
            (part(&asking, "resultType"), part(&asking, "status")),
            (json!("complete"), json!("input_required"))
        );
        assert_eq!(begun(&asking), id);
        assert_eq!(part(&asking, "inputRequests")["colour"]["params"]["message"], "Which colour?");
        let answers = json!({"colour": {"action": "accept", "content": {"colour": "teal"}}});
        let update = json!({"taskId": id, "inputResponses": answers});
        assert_eq!(part(&client.modern("tasks/update", &update, EXTENSION).await, "resultType"), "complete");
        let done = client.modern("tasks/get", &about(&id), EXTENSION).await;
        assert_eq!(part(&done, "status"), "completed");
        assert_eq!(part(&done, "result")["structuredContent"]["answer"]["content"]["colour"], "teal");
        assert!(done.raw.contains(r#""n":1.10"#), "{}", done.raw);
        // Ending what has ended is no mistake here.
        assert_eq!(part(&client.modern("tasks/cancel", &about(&id), EXTENSION).await, "resultType"), "complete");
        assert_eq!(part(&client.modern("tasks/get", &about(&id), EXTENSION).await, "status"), "completed");
    }
}

#[tokio::test]
async fn an_answer_to_a_task_carries_no_secret_out() {
    // given: a task that deals with strangers, and asks
    let section = "sessionInit: {preset: passthrough@1}\n\
                   flow: {labels: [{name: echo, labels: [secret]}], rules: [{when: [secret], then: egress, do: deny}]}";
    let mut client = Client::of("modern", Over::Pipes, json!({}), section).await;
    let id = begun(&client.modern("tools/call", &call("job", json!({"ask": true})), EXTENSION).await);
    // when: a secret is read before the answer
    client.modern("tools/call", &call("echo", json!({"n": 1})), EXTENSION).await.result();
    let answers = json!({"colour": {"action": "accept", "content": {"colour": "s3cret"}}});
    let update = json!({"taskId": id, "inputResponses": answers});
    let refused = client.modern("tasks/update", &update, EXTENSION).await;
    // then
    assert!(refused.error_message().contains("this conversation has read `echo` (secret)"), "{}", refused.raw);
    let asking = client.modern("tasks/get", &about(&id), EXTENSION).await;
    assert_eq!(part(&asking, "status"), "input_required", "{}", asking.raw);
}

#[tokio::test]
async fn a_task_that_was_ended_stays_so() {
    for over in WAYS {
        let mut client = client(over).await;
        let id = begun(&client.modern("tools/call", &call("job", json!({"hold": true})), EXTENSION).await);
        assert_eq!(part(&client.modern("tasks/get", &about(&id), EXTENSION).await, "status"), "working");
        client.modern("tasks/cancel", &about(&id), EXTENSION).await.result();
        assert_eq!(part(&client.modern("tasks/get", &about(&id), EXTENSION).await, "status"), "cancelled");
    }
}

#[tokio::test]
async fn who_does_not_declare_the_extension_is_told_to() {
    for over in WAYS {
        let mut client = client(over).await;
        for (method, params) in [
            ("tools/call", call("job", json!({}))),
            ("tasks/get", about("x")),
            ("tasks/update", json!({"taskId": "x", "inputResponses": {}})),
            ("tasks/cancel", about("x")),
            ("subscriptions/listen", json!({"notifications": {"taskIds": ["x"]}})),
        ] {
            let refused = client.modern(method, &params, "{}").await.value()["error"].clone();
            assert_eq!(refused["code"], -32021, "{method}: {refused}");
            let required = refused["data"]["requiredCapabilities"].to_string();
            assert_eq!(required, EXTENSION, "{method}");
        }
        assert_eq!(client.modern("tools/call", &call("maybe", json!({})), "{}").await.text(), "done at once");
    }
}

#[tokio::test]
async fn methods_of_the_other_era_do_not_exist() {
    for over in WAYS {
        let mut client = client(over).await;
        let id = begun(&client.modern("tools/call", &call("job", json!({})), EXTENSION).await);
        for method in ["tasks/result", "tasks/list"] {
            assert_eq!(client.modern(method, &about(&id), EXTENSION).await.error_code(), -32601, "{method}");
        }
    }
    let mut client = Client::of("legacy", Over::Pipes, json!({}), "").await;
    assert_eq!(client.modern("tasks/get", &about("x"), EXTENSION).await.error_code(), -32601);
}

#[tokio::test]
async fn the_header_must_name_the_task() {
    let mut client = client(Over::Http).await;
    let id = begun(&client.modern("tools/call", &call("job", json!({"hold": true})), EXTENSION).await);
    for method in ["tasks/get", "tasks/cancel"] {
        for wrong in [by_hand(method, &about(&id), EXTENSION).without("Mcp-Name"), named(method, &id, THEIRS)] {
            let reply = client.http().send(&wrong).await;
            assert_eq!((reply.status, reply.response().await.error_code()), (400, -32020));
        }
    }
    let undeclared = client.http().send(&by_hand("tasks/get", &about(&id), "{}")).await;
    assert_eq!(undeclared.status, 400);
    assert_eq!(part(&client.modern("tasks/get", &about(&id), EXTENSION).await, "status"), "working");
}

fn named(method: &str, id: &str, name: &str) -> HttpRequest {
    by_hand(method, &about(id), EXTENSION).with("Mcp-Name", name)
}

#[tokio::test]
async fn a_task_is_its_owner_s_and_nobody_else_s() {
    let mut command = server("modern");
    command.args(["--http", "127.0.0.1:0"]);
    let (_server, url) = Program::start_server(command).await;
    let tokens = "auth: {tokens: [{token: secret-token-of-a, sub: ann}, {token: secret-token-of-b, sub: bob}]}";
    let proxy = Proxy::new(&Config::new().remote("fake", &url).section(tokens)).http().await;
    let mut ann = proxy.client().with_header("Authorization", "Bearer secret-token-of-a");
    let mut bob = proxy.client().with_header("Authorization", "Bearer secret-token-of-b");
    let job = call("job", json!({"hold": true})).to_string();
    let id = begun(&ann.modern_with("tools/call", &job, EXTENSION).await);
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let foreign = bob.modern_with(method, &about(&id).to_string(), EXTENSION).await;
        let made_up = bob.modern_with(method, &about("made-up").to_string(), EXTENSION).await;
        assert_eq!(foreign.error_code(), -32602, "{method}");
        assert_eq!(foreign.error_message(), made_up.error_message(), "nobody learns that it exists");
    }
    // Nor is it another era's.
    ann.initialize("2025-11-25").await.result();
    assert_eq!(ann.request("tasks/get", &about(&id).to_string()).await.error_code(), -32601);
    let looked = ann.modern_with("tasks/get", &about(&id).to_string(), EXTENSION).await;
    assert_eq!(part(&looked, "status"), "working");
}

#[tokio::test]
async fn news_of_tasks_are_not_promised() {
    let mut client = client(Over::Http).await;
    let id = begun(&client.modern("tools/call", &call("job", json!({"hold": true})), EXTENSION).await);
    let wanted = json!({"notifications": {"taskIds": [id], "toolsListChanged": true}});
    let mut stream = client.http().send(&by_hand("subscriptions/listen", &wanted, EXTENSION)).await;
    let told = stream.next_message().await.expect("an acknowledgment").value();
    assert_eq!(told["params"]["notifications"], json!({"toolsListChanged": true}), "{told}");
}

#[tokio::test]
async fn on_a_connection_of_its_own_a_client_finds_its_tasks_whatever_else_it_declares() {
    let mut client = Client::of("modern", Over::Pipes, json!({"scope": "session"}), "").await;
    let more = r#"{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
    let id = begun(&client.modern("tools/call", &call("job", json!({"hold": true})), more).await);
    assert_eq!(part(&client.modern("tasks/get", &about(&id), EXTENSION).await, "status"), "working");
}
