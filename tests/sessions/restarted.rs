//! The next process with the same key goes on with the sessions of the one before.

use super::{KEY, moved, parts, proxy, replica, session, status};
use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::http_request::HttpRequest;
use crate::support::message;
use crate::support::patience::within;
use crate::support::program::is_gone;
use crate::support::proxy::Proxy;
use crate::support::redis::Redis;

const COUNTING: &str = r#"
def count(args):
    return str(state.incr("n"))

publish(metadata("count", "Counts.", {}, {}), count)
"#;

const TOOLS_CHANGED: &str = "notifications/tools/list_changed";

/// Asks the client something, and answers.
async fn asked(client: &HttpClient) -> String {
    let call = message::request("70", "tools/call", &message::call("ask", "{}"));
    let mut reply = client.send(&client.legacy(&call)).await;
    let question = reply.next_message().await.expect("a question");
    assert_eq!(question.method().as_deref(), Some("elicitation/create"));
    let id = question.id().expect("a question has an id");
    let answer = client.legacy(&message::result(&id, r#"{"action":"decline"}"#));
    assert_eq!(client.send(&answer).await.status, 202);
    assert_eq!(reply.response().await.id().as_deref(), Some("70"));
    id
}

#[tokio::test]
async fn a_session_goes_on_in_both_directions() {
    let mut first = replica("").await;
    let mut client = first.client();
    client.initialize_with("2025-11-25", r#"{"elicitation":{}}"#).await.result();
    client.call("echo", "{}").await.result();
    let home = parts(&client).0.to_owned();
    assert!(asked(&client).await.starts_with(&format!("\"{home}.")));
    first.program.terminate();
    assert!(first.program.exit().await.success());

    let second = replica("").await;
    let mut client = moved(&client, &second);
    assert_eq!(client.call("echo", r#"{"a":1.10}"#).await.structured(), r#"{"a":1.10}"#);
    let id = asked(&client).await;
    assert!(!id.contains(&home), "questions are those of the process that asks: {id}");
    let log = second.program.stderr.text();
    assert!(log.contains(&format!("is back; it was opened by {home}")), "{log}");
    assert!(!log.contains(&parts(&client).1[..40]), "the log has no session id\n{log}");
}

#[tokio::test]
async fn a_killed_proxy_ends_no_session() {
    let first = replica("").await;
    let client = session(&first).await;
    first.program.kill();
    is_gone(first.program.id(), &first.program.stderr).await;
    let second = replica("").await;
    assert_eq!(status(&moved(&client, &second)).await, 200);
}

#[tokio::test]
async fn each_list_is_told_as_changed_once() {
    let first = replica("").await;
    let mut client = session(&first).await;
    client.request("tools/list", "{}").await.result();
    let second = replica("").await;
    let mut client = moved(&client, &second);
    let mut news = client.get_stream().await;
    let mut told = Vec::new();
    for _ in 0..3 {
        told.push(news.next_message().await.and_then(|message| message.method()).unwrap_or_default());
    }
    let lists = ["tools", "resources", "prompts"].map(|list| format!("notifications/{list}/list_changed"));
    assert_eq!(told, lists);
    client.call("add_tool", r#"{"name":"late"}"#).await.result();
    let next = news.next_message().await.and_then(|message| message.method());
    assert_eq!(next.as_deref(), Some(TOOLS_CHANGED));
    assert!(client.request("tools/list", "{}").await.tool_names().contains(&"late".to_owned()));
    drop(news);
    // A stream that is opened again says nothing of it.
    let mut again = client.get_stream().await;
    for name in ["later", "latest"] {
        client.call("add_tool", &format!(r#"{{"name":"{name}"}}"#)).await.result();
        assert_eq!(again.next_message().await.and_then(|message| message.method()).as_deref(), Some(TOOLS_CHANGED));
        assert!(client.request("tools/list", "{}").await.tool_names().contains(&name.to_owned()));
    }
}

#[tokio::test]
async fn a_stream_of_a_call_ends_with_its_process_and_the_standalone_stream_does_not() {
    let first = replica("").await;
    let client = session(&first).await;
    let home = parts(&client).0.to_owned();
    let second = replica("").await;
    let client = moved(&client, &second);
    let resume = |id: &str| client.in_session(HttpRequest::get().header("Last-Event-ID", id));
    assert_eq!(client.send(&resume(&format!("{home}-1-0"))).await.status, 400);
    let mut listening = client.send(&resume(&format!("{home}-0-9"))).await;
    assert_eq!(listening.status, 200);
    let first = listening.next_event().await.expect("it is told what it may have missed");
    let id = first.id.expect("events have ids");
    assert!(!id.starts_with(&home) && id.contains("-0-"), "{id}");
}

#[tokio::test]
async fn in_redis_the_values_of_a_session_stay_until_it_ends() {
    let Some(redis) = Redis::start().await else { return };
    let config = Config::new()
        .section("sessionInit: { scriptFile: policy.star }")
        .section(&format!("store: {{url: '{}'}}", redis.url()))
        .section(&format!("serve: {{stateKeys: [{KEY}]}}"));
    let world = || Proxy::new(&config).file("policy.star", COUNTING);
    let mut first = world().http().await;
    let mut client = session(&first).await;
    assert_eq!(client.call("count", "{}").await.text(), "1");
    first.program.terminate();
    assert!(first.program.exit().await.success());
    let second = world().http().await;
    let mut client = moved(&client, &second);
    assert_eq!(client.call("count", "{}").await.text(), "2");
    assert_eq!(client.delete().await, 204);
    let deleted = async { while redis.ask(&["KEYS", "*"]).await.contains(":session:") {} };
    within("the end of the values", &second.program.stderr, deleted).await;
}

#[tokio::test]
async fn without_keys_a_session_ends_with_its_process() {
    let first = proxy("").await;
    let client = session(&first).await;
    assert_eq!(status(&client).await, 200);
    let second = proxy("").await;
    assert_eq!(status(&moved(&client, &second)).await, 404);
}

#[tokio::test]
async fn while_a_key_is_replaced_both_kinds_of_session_go_on() {
    let newer = "another-key-of-more-than-thirty-two-bytes";
    let old = replica("").await;
    let both = proxy(&format!("stateKeys: [{newer}, {KEY}]")).await;
    let new = proxy(&format!("stateKeys: [{newer}]")).await;
    let before = session(&old).await;
    let between = session(&both).await;
    assert_eq!(status(&moved(&before, &both)).await, 200);
    assert_eq!(status(&moved(&between, &new)).await, 200);
    assert_eq!(status(&moved(&before, &new)).await, 404, "the old key is gone");
    assert_eq!(status(&moved(&between, &old)).await, 404);
}
