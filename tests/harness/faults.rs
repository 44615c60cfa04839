//! Every fault the fake backend can show.

use crate::support::program::is_gone;
use crate::support::programs::fake_backend;
use crate::support::stdio_client::StdioClient;

async fn client() -> StdioClient {
    let mut client = StdioClient::start(fake_backend(["--era", "legacy"]));
    client.initialize("2025-11-25").await;
    client
}

#[tokio::test]
async fn an_id_is_answered_twice() {
    let mut client = client().await;
    assert_eq!(client.call("twice", "{}").await.text(), "first");
    assert_eq!(client.next().await.text(), "second");
}

#[tokio::test]
async fn an_id_nobody_asked_about_is_answered() {
    let mut client = client().await;
    assert_eq!(client.call("unknown_id", "{}").await.text(), "for you");
    assert_eq!(client.next().await.id().as_deref(), Some(r#""never-asked""#));
}

#[tokio::test]
async fn a_response_has_both_parts_or_neither() {
    let mut client = client().await;
    let both = client.call("both", "{}").await;
    assert!(both.member("result").is_some() && both.member("error").is_some());
    let neither = client.call("neither", "{}").await;
    assert!(neither.member("result").is_none() && neither.member("error").is_none());
}

#[tokio::test]
async fn lines_that_are_no_messages_precede_an_answer() {
    let mut client = client().await;
    client.call("garbage", "{}").await.result();
    assert_eq!(client.unclaimed().count(), 5);
}

#[tokio::test]
async fn a_flood_of_notifications_and_a_long_line_arrive_whole() {
    let mut client = client().await;
    client.call("flood", r#"{"n":1000}"#).await.result();
    assert_eq!(client.unclaimed().count(), 1000);
    assert_eq!(client.call("big", r#"{"n":3000000}"#).await.text().len(), 3_000_000);
}

#[tokio::test]
async fn errors_are_those_asked_for() {
    let mut client = client().await;
    let error = client.call("rpc_error", r#"{"code":-32050,"message":"m","data":{"n":1.10}}"#).await;
    assert_eq!(error.member("error").as_deref(), Some(r#"{"code":-32050,"message":"m","data":{"n":1.10}}"#));
    assert_eq!(client.call("fail", r#"{"message":"no"}"#).await.value()["result"]["isError"], true);
    let unknown = client.call("nothing", "{}").await;
    assert_eq!((unknown.error_code(), unknown.error_message().as_str()), (-32602, "there is no tool nothing"));
}

#[tokio::test]
async fn a_raw_result_given_as_text_may_be_anything() {
    let mut client = client().await;
    assert_eq!(client.call("raw", r#"{"result":"{\"a\" :1.10}"}"#).await.result(), r#"{"a" :1.10}"#);
}

#[tokio::test]
async fn a_slow_call_does_not_hold_up_others() {
    let mut client = client().await;
    let slow = client.begin("tools/call", r#"{"name":"slow","arguments":{"ms":200}}"#).await;
    client.call("echo", "{}").await;
    assert_eq!(client.unclaimed().count(), 0);
    client.response(&slow).await.result();
}

#[tokio::test]
async fn the_server_crashes_or_is_killed() {
    let mut crashing = client().await;
    crashing.begin("tools/call", r#"{"name":"crash","arguments":{"code":7}}"#).await;
    assert_eq!(crashing.program.exit().await.code(), Some(7));
    let killed = client().await;
    killed.program.kill();
    is_gone(killed.program.id(), killed.stderr()).await;
}

#[tokio::test]
async fn a_line_that_is_not_a_message_is_refused_and_the_next_is_served() {
    let mut client = client().await;
    client.send("{not json").await;
    let error = client.next().await;
    assert_eq!((error.error_code(), error.id()), (-32700, None));
    client.call("echo", "{}").await.result();
}
