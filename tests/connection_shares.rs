//! How many connections to a server one person may have, over all sessions.

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::message::Message;
use crate::support::patience::within;
use crate::support::program::Program;
use crate::support::programs::fake_backend;
use crate::support::proxy::{HttpProxy, Proxy};

const TOKENS: &str = "auth: {tokens: [{token: anns-own-long-t0ken, sub: ann}, {token: bobs-own-long-t0ken, sub: bob}]}";

async fn session_with(proxy: &HttpProxy, token: Option<&str>, capabilities: &str) -> HttpClient {
    let mut client = proxy.client();
    if let Some(token) = token {
        client = client.with_header("Authorization", &format!("Bearer {token}"));
    }
    client.initialize_with("2025-11-25", capabilities).await.result();
    client
}

async fn session(proxy: &HttpProxy, token: Option<&str>) -> HttpClient {
    session_with(proxy, token, "{}").await
}

async fn start(keys: Value, more: &str) -> HttpProxy {
    let backend = fake_backend(["--era", "legacy", "--only", "pid"]);
    Proxy::new(&Config::new().server_with("fake", &backend, keys).section(more)).http().await
}

fn is_refused(answer: &Message) -> bool {
    let refused = answer.value()["result"]["isError"] == true;
    if refused {
        let text = answer.text();
        assert!(text.contains("(`mcpServers.fake.maxPerUser`): end another session first"), "{text}");
        assert!(text.contains("this user already has the maximum of 2"), "{text}");
    }
    refused
}

#[tokio::test]
async fn a_person_has_so_many_processes_of_a_server_and_then_an_error_that_names_the_key() {
    let proxy = start(json!({"scope": "session", "maxPerUser": 2}), TOKENS).await;
    let ann = Some("anns-own-long-t0ken");
    let mut sessions = [session(&proxy, ann).await, session(&proxy, ann).await, session(&proxy, ann).await];
    assert!(!is_refused(&sessions[0].call("pid", "{}").await));
    assert!(!is_refused(&sessions[1].call("pid", "{}").await));
    assert!(is_refused(&sessions[2].call("pid", "{}").await));
    assert!(!is_refused(&sessions[1].call("pid", "{}").await), "what is open stays");
    let mut bob = session(&proxy, Some("bobs-own-long-t0ken")).await;
    assert!(!is_refused(&bob.call("pid", "{}").await), "another person has a share of their own");
    // The process ends with its session.
    assert_eq!(sessions[0].delete().await, 204);
    let accepted = async { while is_refused(&sessions[2].call("pid", "{}").await) {} };
    within("the place of the session that ended", &proxy.program.stderr, accepted).await;
}

#[tokio::test]
async fn anonymous_clients_together_have_as_many_processes_as_one_person() {
    let proxy = start(json!({"scope": "session", "maxPerUser": 2}), "").await;
    let mut sessions = [session(&proxy, None).await, session(&proxy, None).await, session(&proxy, None).await];
    assert!(!is_refused(&sessions[0].call("pid", "{}").await));
    assert!(!is_refused(&sessions[1].call("pid", "{}").await));
    assert!(is_refused(&sessions[2].call("pid", "{}").await));
}

#[tokio::test]
async fn connections_that_are_only_opened_to_list_count_for_the_person() {
    let (_server, url) = Program::start_server(fake_backend(["--http", "127.0.0.1:0", "--form-tool"])).await;
    let proxy = Proxy::new(&Config::new().remote("fake", &url).section(TOKENS)).http().await;
    let ann = Some("anns-own-long-t0ken");
    // Its first call shows that the server lists more for clients that can be asked.
    let mut asked = session_with(&proxy, ann, r#"{"elicitation":{"form":{}}}"#).await;
    asked.call("echo", "{}").await.result();
    while !asked.request("tools/list", "{}").await.tool_names().contains(&"with_form".to_owned()) {
        tokio::task::yield_now().await;
    }
    for capabilities in [
        r#"{"sampling":{}}"#,
        r#"{"elicitation":{"url":{}}}"#,
        r#"{"elicitation":{"form":{}},"sampling":{}}"#,
        r#"{"elicitation":{"form":{},"url":{}}}"#,
        r#"{"elicitation":{"form":{},"url":{}},"sampling":{}}"#,
    ] {
        let mut client = session_with(&proxy, ann, capabilities).await;
        client.request("tools/list", "{}").await.result();
    }
    let mut bob = session(&proxy, Some("bobs-own-long-t0ken")).await;
    let closed = async {
        loop {
            let seen = bob.call("seen", "{}").await.structured();
            let opened = seen.matches(r#"\"method\":\"initialize\""#).count();
            assert!(opened >= 6, "every set of abilities was listed: {seen}");
            if seen.matches("DELETE").count() + 3 >= opened {
                return;
            }
        }
    };
    within("no more than the main connection and two more", &proxy.program.stderr, closed).await;
}
