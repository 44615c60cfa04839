//! A replica that is killed while somebody is elsewhere, or while a call waits: another one goes on, behind one address.

use serde_json::json;

use super::SERVER;
use super::shared::{ASKABLE, Shared, accepted, call, stateless};
use crate::support::authorization_server::{AuthorizationServer, Hold};
use crate::support::browser::Browser;
use crate::support::http_client::{HttpClient, HttpReply};
use crate::support::message;
use crate::support::proxy::HttpProxy;
use crate::support::redis::Redis;

#[tokio::test]
async fn who_is_at_the_issuer_or_at_the_authorization_server_comes_back_to_another_replica() {
    // given
    let Some(shared) = Shared::start().await else { return };
    let serving = shared.serving().await;
    let ann = Browser::of("ann");
    let page = ann.open(&format!("{}/connect/{SERVER}", shared.url)).await;
    // when: while ann is at the issuer
    let hop = ann.press_only(&page, "Sign in").await;
    let serving = shared.after(serving).await;
    let page = ann.follow(hop).await;
    assert!(page.html.contains("You are <strong>ann"), "{page:?}");
    // and while she is at the authorization server
    let hop = ann.press_only(&page, "Connect").await;
    let serving = shared.after(serving).await;
    let done = ann.follow(hop).await;
    // then
    assert!(done.html.contains("connected as ann"), "{done:?}");
    let answer = shared.client(&serving, "ann").modern_call("echo", r#"{"n":1}"#).await;
    assert_eq!(answer.structured(), r#"{"n":1}"#);
    let codes = (shared.authorization.seen().count("authorization_code"), shared.issuer.redeemed_codes());
    assert_eq!(codes, (1, 1));
}

#[tokio::test]
async fn the_retry_of_a_stateless_client_whose_replica_was_killed_waits_for_the_log_in_at_another_one() {
    // given
    let Some(shared) = Shared::start().await else { return };
    let mut killed = shared.serving().await;
    let log_in = call("crm_log_in");
    let asked = stateless(&mut shared.client(&killed, "bob"), &log_in).await;
    killed.program.kill();
    killed.program.exit().await;
    forget_processes(&shared.redis).await;
    let serving = shared.serving().await;
    // when: the call was not sent, so that another replica may make it; bob has agreed already, and is not asked again
    let retry = accepted(&log_in, &asked);
    let mut client = shared.client(&serving, "bob");
    let (answer, ()) = tokio::join!(stateless(&mut client, &retry), shared.connect("bob"));
    // then
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("you are logged in at `crm`"), "{answer}");
    // It was one call: the ticket is good once.
    let again = stateless(&mut client, &retry).await;
    assert!(again["error"]["message"].as_str().is_some_and(|text| text.contains("already used")), "{again}");
}

#[tokio::test]
async fn a_retry_after_the_log_in_is_made_with_the_account_by_another_replica() {
    // given: a tool of the server itself, which stays listed after a log-in has ended
    let Some(shared) = Shared::start().await else { return };
    let serving = shared.serving().await;
    shared.connect("bob").await;
    let echo = call("echo");
    let mut client = shared.client(&serving, "bob");
    assert_eq!(stateless(&mut client, &echo).await["result"]["structuredContent"], json!({"n": 1}));
    shared.authorization.end_log_ins();
    shared.server.refuse_known_tokens();
    let asked = stateless(&mut client, &echo).await;
    let retry = accepted(&echo, &asked);
    // when
    let serving = shared.after(serving).await;
    shared.connect("bob").await;
    // then
    let answer = stateless(&mut shared.client(&serving, "bob"), &retry).await;
    assert_eq!(answer["result"]["structuredContent"], json!({"n": 1}), "{answer}");
}

/// A call of a client with a session, up to the question, which it accepts.
async fn asked_in_session(client: &HttpClient) -> HttpReply {
    let body = message::request("7", "tools/call", &message::call("crm_log_in", "{}"));
    let mut stream = client.send(&client.legacy(&body)).await;
    let question = stream.next_message().await.expect("a question");
    assert_eq!(question.method().as_deref(), Some("elicitation/create"), "{}", question.raw);
    let answer = message::result(&question.id().expect("an id"), r#"{"action":"accept"}"#);
    assert_eq!(client.send(&client.legacy(&answer)).await.status, 202);
    stream
}

#[tokio::test]
async fn a_client_with_a_session_whose_replica_was_killed_is_asked_again_by_another_one() {
    // given
    let Some(shared) = Shared::start().await else { return };
    let serving = shared.serving().await;
    let mut client = shared.client(&serving, "bob");
    client.initialize_with("2025-11-25", ASKABLE).await.result();
    let mut stream = asked_in_session(&client).await;
    // when
    let serving = shared.after(serving).await;
    // then: the stream ends without an answer, and the session goes on
    assert!(stream.next_event().await.is_none());
    let client = client.moved_to(&shared.url, &serving.program.stderr);
    let stream = asked_in_session(&client).await;
    shared.connect("bob").await;
    let messages = stream.messages().await;
    let told = messages.iter().any(|message| message.raw.contains("notifications/elicitation/complete"));
    let answer = messages.last().expect("an answer");
    assert!(told && answer.raw.contains("you are logged in at `crm`"), "{messages:?}");
}

/// Forgets the last signs of life, which count for some seconds.
async fn forget_processes(redis: &Redis) {
    let script =
        "for _, sign in ipairs(redis.call('KEYS', 'mcp-proxy:*alive*')) do redis.call('DEL', sign) end return 1";
    assert_eq!(redis.ask(&["EVAL", script, "0"]).await, "int(1)");
}

/// Frees the lock that a killed replica holds for 30 seconds; says how many there were.
async fn free_locks(redis: &Redis) -> String {
    let script = "local locks = redis.call('KEYS', 'mcp-proxy:*lock*') \
                  for _, lock in ipairs(locks) do redis.call('DEL', lock) end return #locks";
    redis.ask(&["EVAL", script, "0"]).await
}

/// The next replica, after one was killed while the authorization server held a renewal of Ann's account.
async fn after_a_held_renewal(shared: &Shared, hold: impl FnOnce(&AuthorizationServer) -> Hold) -> HttpProxy {
    let serving = shared.serving().await;
    shared.connect("ann").await;
    let mut client = shared.client(&serving, "ann");
    client.modern_call("echo", "{}").await.result();
    shared.authorization.end_access_tokens();
    let held = hold(&shared.authorization);
    let log = serving.program.stderr.clone();
    let next = tokio::select! {
        answer = client.modern_call("echo", "{}") => panic!("{}", answer.raw),
        () = held.arrived(&log) => shared.after(serving).await,
    };
    assert_eq!(free_locks(&shared.redis).await, "int(1)");
    next
}

#[tokio::test]
async fn a_replica_that_is_killed_before_its_renewal_is_read_has_lost_nothing() {
    // given
    let Some(shared) = Shared::start().await else { return };
    // when
    let serving = after_a_held_renewal(&shared, |authorization| authorization.hold("refresh_token")).await;
    // then
    let answer = shared.client(&serving, "ann").modern_call("echo", r#"{"n":1}"#).await;
    assert_eq!(answer.structured(), r#"{"n":1}"#);
    assert_eq!((shared.authorization.seen().count("refresh_token"), shared.authorization.reuses()), (2, 0));
}

#[tokio::test]
async fn a_replica_that_is_killed_before_the_answer_to_its_renewal_costs_a_log_in_and_the_next_call_says_so() {
    // given
    let Some(shared) = Shared::start().await else { return };
    // when: the old refresh token is spent, and nobody has the new one
    let serving = after_a_held_renewal(&shared, |authorization| authorization.hold_answer("refresh_token")).await;
    // then
    let told = shared.client(&serving, "ann").modern_call("crm_log_in", "{}").await;
    assert!(told.raw.contains("log in at `crm` first"), "{}", told.raw);
    shared.connect("ann").await;
    let answer = shared.client(&serving, "ann").modern_call("echo", r#"{"n":1}"#).await;
    assert_eq!(answer.structured(), r#"{"n":1}"#);
}
