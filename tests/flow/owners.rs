//! Whose marks count: a person keeps them over sessions and proxies, a session has its own, and who cannot be told apart
//! counts as having read everything.

use super::{LABELS, PASSTHROUGH, tools};
use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::message::Message;
use crate::support::programs::fake_backend;
use crate::support::proxy::{HttpProxy, Proxy};
use crate::support::redis::Redis;
use crate::support::temp_dir::TempDir;

const TOKENS: &str = "auth: {tokens: [{token: secret-token-of-a, sub: ann}, {token: secret-token-of-b, sub: bob}]}";
const SEND: &str = r#"{"text":"s3cret"}"#;

fn flow(more: &str) -> String {
    format!("flow:\n{LABELS}  rules:\n  - {{when: [secret], then: egress, do: deny}}\n{more}")
}

async fn proxy(sections: &[&str]) -> (HttpProxy, TempDir) {
    let folder = TempDir::new();
    let file = folder.write("tools.json", &tools().to_string());
    let arguments = ["--era", "legacy", "--tools", file.to_str().expect("a path")];
    let config = Config::new().server("fake", &fake_backend(arguments)).section(PASSTHROUGH);
    let config = sections.iter().fold(config, |config, section| config.section(section));
    (Proxy::new(&config).http().await, folder)
}

fn holder(proxy: &HttpProxy, token: &str) -> HttpClient {
    proxy.client().with_header("Authorization", &format!("Bearer {token}"))
}

async fn session(mut client: HttpClient) -> HttpClient {
    client.initialize("2025-11-25").await.result();
    client
}

fn is_stopped(answer: &Message) -> bool {
    answer.value()["result"]["isError"] == true && answer.text().contains("`send_mail` was not called")
}

#[tokio::test]
async fn a_person_forgets_nothing_by_connecting_again() {
    let (proxy, _folder) = proxy(&[TOKENS, &flow("")]).await;
    let mut ann = session(holder(&proxy, "secret-token-of-a")).await;
    ann.call("read_vault", "{}").await.result();
    assert!(is_stopped(&ann.call("send_mail", SEND).await));
    let mut again = session(holder(&proxy, "secret-token-of-a")).await;
    assert!(is_stopped(&again.call("send_mail", SEND).await), "after a reconnect");
    assert!(is_stopped(&holder(&proxy, "secret-token-of-a").modern_call("send_mail", SEND).await), "in the other era");
    let mut bob = session(holder(&proxy, "secret-token-of-b")).await;
    assert!(!is_stopped(&bob.call("send_mail", SEND).await), "another person");
}

#[tokio::test]
async fn per_session_narrows_it_where_there_are_sessions() {
    let (proxy, _folder) = proxy(&[TOKENS, &flow("  per: session\n")]).await;
    let mut ann = session(holder(&proxy, "secret-token-of-a")).await;
    ann.call("read_vault", "{}").await.result();
    assert!(is_stopped(&ann.call("send_mail", SEND).await));
    let mut other = session(holder(&proxy, "secret-token-of-a")).await;
    assert!(!is_stopped(&other.call("send_mail", SEND).await), "another session");
}

#[tokio::test]
async fn an_anonymous_request_without_a_session_counts_as_having_read_everything() {
    let (proxy, _folder) = proxy(&[&flow("")]).await;
    let answer = proxy.client().modern_call("send_mail", SEND).await;
    assert!(is_stopped(&answer), "{}", answer.raw);
    assert!(answer.text().contains("a request without a user or a session counts as having read everything (secret)"));
    let read = proxy.client().modern_call("read_vault", "{}").await;
    assert!(read.value()["result"]["isError"] != true, "{}", read.raw);
    // A session has a memory of its own.
    let mut one = session(proxy.client()).await;
    assert!(!is_stopped(&one.call("send_mail", SEND).await));
    one.call("read_vault", "{}").await.result();
    assert!(is_stopped(&one.call("send_mail", SEND).await));
    let mut other = session(proxy.client()).await;
    assert!(!is_stopped(&other.call("send_mail", SEND).await));
}

#[tokio::test]
async fn two_proxies_with_one_store_know_the_same() {
    let Some(redis) = Redis::start().await else { return };
    let store = format!("store: {{url: '{}'}}", redis.url());
    let sections = [TOKENS, &flow(""), &store];
    let ((one, _first), (two, _second)) = (proxy(&sections).await, proxy(&sections).await);
    for modern in [false, true] {
        let token = if modern { "secret-token-of-b" } else { "secret-token-of-a" };
        let mut here = session(holder(&one, token)).await;
        let mut there = session(holder(&two, token)).await;
        assert!(!is_stopped(&there.call("send_mail", SEND).await));
        if modern {
            holder(&one, token).modern_call("read_vault", "{}").await.result();
        } else {
            here.call("read_vault", "{}").await.result();
        }
        assert!(is_stopped(&there.call("send_mail", SEND).await), "at the other proxy");
        assert!(is_stopped(&holder(&two, token).modern_call("send_mail", SEND).await));
    }
    // Names of people are in no key.
    assert!(!redis.ask(&["KEYS", "*"]).await.contains("ann"));
}

#[tokio::test]
async fn without_the_store_no_labelled_item_is_used() {
    let Some(mut redis) = Redis::start().await else { return };
    let store = format!("store: {{url: '{}'}}", redis.url());
    let (proxy, _folder) = proxy(&[TOKENS, &flow(""), &store]).await;
    let mut ann = session(holder(&proxy, "secret-token-of-a")).await;
    assert!(!is_stopped(&ann.call("send_mail", SEND).await));
    redis.kill();
    for tool in ["read_vault", "fetch", "send_mail"] {
        let answer = ann.call(tool, "{}").await;
        assert_eq!(answer.value()["result"]["isError"], true, "{}", answer.raw);
        let why = answer.text();
        assert!(why.contains(&format!("`{tool}` was not called")) && why.contains("is unavailable"), "{why}");
    }
    // What has no labels goes on.
    let noted = ann.call("note", "{}").await;
    assert!(noted.value()["result"]["isError"] != true, "{}", noted.raw);
    redis.again().await;
    let back = async { while ann.call("fetch", "{}").await.value()["result"]["isError"] == true {} };
    crate::support::patience::within("the store", &proxy.program.stderr, back).await;
}

#[tokio::test]
async fn a_mark_ends_after_its_time() {
    let (proxy, _folder) = proxy(&[TOKENS, &flow("  remember: 500ms\n")]).await;
    let mut ann = session(holder(&proxy, "secret-token-of-a")).await;
    ann.call("read_vault", "{}").await.result();
    assert!(is_stopped(&ann.call("send_mail", SEND).await));
    let over = async { while is_stopped(&ann.call("send_mail", SEND).await) {} };
    crate::support::patience::within("the end of the mark", &proxy.program.stderr, over).await;
}
