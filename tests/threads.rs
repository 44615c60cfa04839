//! `serve.threads`: several threads serve the clients, who notice nothing of it.

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::message;
use crate::support::program::Program;
use crate::support::programs::{fake_backend, fake_http_backend};
use crate::support::proxy::{HttpProxy, Proxy};

const THREADS: usize = 4;
/// More than threads, so that each thread has several connections at once.
const CLIENTS: usize = 24;
const ROUNDS: usize = 10;
const FORMS: &str = r#"{"elicitation":{"form":{}}}"#;

const SCRIPT: &str = r#"
def counted(call):
    def handler(arguments):
        shared_state.incr("calls")
        return call(arguments)
    return handler

for name, server in backends().items():
    for meta, call in server.tools():
        if meta.name in ["echo", "ask"]:
            publish(meta.replace(name = name + "_" + meta.name), call)
        if meta.name == "echo":
            publish(meta.replace(name = "counted_" + name), counted(call))

def total(arguments):
    return {"calls": shared_state.get("calls")}

publish(metadata("total", "Count the calls", {"type": "object"}, {}), total)
"#;

/// A proxy with a server on a pipe for each era, and one behind HTTP.
async fn proxy() -> (HttpProxy, Program) {
    let (server, url) = fake_http_backend(&["--era", "legacy"]).await;
    let config = Config::new()
        .server("old", &fake_backend(["--era", "legacy", "--only", "echo"]))
        .server("new", &fake_backend(["--era", "modern", "--only", "echo"]))
        .remote("web", &url)
        .section(&format!("serve: {{threads: {THREADS}}}"))
        .section("sessionInit: {scriptFile: policy.star}");
    (Proxy::new(&config).file("policy.star", SCRIPT).http().await, server)
}

async fn call(client: &mut HttpClient, modern: bool, tool: &str, arguments: &Value) -> Value {
    let arguments = arguments.to_string();
    let answer = if modern { client.modern_call(tool, &arguments).await } else { client.call(tool, &arguments).await };
    serde_json::from_str(&answer.structured()).expect("structured content")
}

/// Calls every kind of tool, each time with arguments that only this client has.
async fn calls_of_one(mut client: HttpClient, number: usize) {
    let modern = number.is_multiple_of(2);
    if !modern {
        client.initialize("2025-11-25").await.result();
    }
    for round in 0..ROUNDS {
        for tool in ["old_echo", "new_echo", "web_echo", "counted_old", "counted_new", "counted_web"] {
            let arguments = json!({"client": number, "round": round, "tool": tool});
            assert_eq!(call(&mut client, modern, tool, &arguments).await, arguments);
        }
    }
}

#[tokio::test]
async fn clients_on_all_threads_get_their_own_answers_and_share_the_state() {
    // Given
    let (proxy, _server) = proxy().await;
    // When
    futures::future::join_all((0..CLIENTS).map(|number| calls_of_one(proxy.client(), number))).await;
    // Then
    let total = call(&mut proxy.client(), true, "total", &json!({})).await;
    assert_eq!(total, json!({"calls": CLIENTS * ROUNDS * 3}));
    let status: Value = serde_json::from_str(&proxy.world.run(["status", "--json"]).await.expect(0).stdout).unwrap();
    let threads = status["threads"].as_array().expect("a list of threads");
    assert_eq!(threads.len(), THREADS);
    for thread in threads {
        assert!(thread["requests"].as_u64().unwrap() > 0, "all threads have served: {threads:?}");
        assert!(thread["busySeconds"].as_f64().unwrap() > 0.0, "{threads:?}");
    }
    let shown = proxy.world.run(["status"]).await.expect(0).stdout;
    assert!(shown.contains("THREAD"), "{shown}");
}

/// Calls a tool that asks, and answers on another connection, which any thread may have.
async fn asked_one(mut client: HttpClient, number: usize) {
    client.initialize_with("2025-11-25", FORMS).await.result();
    let id = (100 + number).to_string();
    let ask = message::request(&id, "tools/call", &message::call("web_ask", r#"{"message":"?"}"#));
    let mut reply = client.send(&client.legacy(&ask)).await;
    let question = reply.next_message().await.expect("a question");
    let content = json!({"action": "accept", "content": {"colour": format!("colour {number}")}});
    let answer = message::result(&question.id().expect("a question has an id"), &content.to_string());
    assert_eq!(client.send(&client.legacy(&answer)).await.status, 202);
    let response = reply.response().await;
    assert!(response.raw.contains(&format!("colour {number}\\\"")), "{}", response.raw);
}

#[tokio::test]
async fn an_answer_reaches_the_call_that_waits_on_another_thread() {
    let (proxy, _server) = proxy().await;
    futures::future::join_all((0..CLIENTS).map(|number| asked_one(proxy.client(), number))).await;
}

#[tokio::test]
async fn the_number_of_threads_is_checked() {
    let config = Config::new().server("fake", &fake_backend(["--only", "echo"]));
    for (arguments, expected) in [
        (&["serve", "--http", "127.0.0.1:0", "--threads", "0"][..], "expected a number from 1 to 8, or `auto`"),
        (&["serve", "--threads", "2"], "--http"),
    ] {
        let refused = Proxy::new(&config).run(arguments.iter().copied()).await.expect(2);
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    }
    let wrong = Proxy::new(&config.section("serve: {threads: 9}")).run(["list-tools"]).await.expect(2);
    assert!(wrong.stderr.contains("`serve.threads`: expected a number from 1 to 8, or `auto`"), "{}", wrong.stderr);
}
