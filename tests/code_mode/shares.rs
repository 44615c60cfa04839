//! How many scripts one person may run at once, over all sessions.

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::message;
use crate::support::patience::LONG_PATIENCE;
use crate::support::programs::fake_backend;
use crate::support::proxy::{HttpProxy, Proxy};

const TOKENS: &str = "auth: {tokens: [{token: anns-own-long-t0ken, sub: ann}, {token: bobs-own-long-t0ken, sub: bob}]}";

async fn session(proxy: &HttpProxy, token: &str) -> HttpClient {
    let mut client = proxy.client().with_header("Authorization", &format!("Bearer {token}"));
    client.initialize("2025-11-25").await.result();
    client
}

fn script(text: &str) -> String {
    message::call("execute_tool_script", &json!({"script": text}).to_string())
}

async fn returned(client: &mut HttpClient, text: &str) -> Value {
    let answer = client.request("tools/call", &script(text)).await.value();
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    answer["result"]["structuredContent"]["result"].clone()
}

#[tokio::test]
async fn sixteen_scripts_of_one_person_run_at_once_whatever_the_session() {
    let config = Config::new()
        .server("fake", &fake_backend(["--only", "stall,seen,echo"]))
        .section("codeMode: { enabled: true, timeout: 60s }")
        .section(TOKENS);
    let mut proxy = Proxy::new(&config).http().await;
    proxy.program.stderr.patience = LONG_PATIENCE;
    let (first, mut second) =
        (session(&proxy, "anns-own-long-t0ken").await, session(&proxy, "anns-own-long-t0ken").await);
    let mut bob = session(&proxy, "bobs-own-long-t0ken").await;
    let mut held = Vec::new();
    for number in 0..16 {
        let text = script(&format!("return stall(mark = 'held-{number}-')"));
        let request = first.legacy(&message::request(&number.to_string(), "tools/call", &text));
        held.push(first.send_and_leave_open(&request).await);
        bob.call("seen", &format!(r#"{{"wait_for":"held-{number}-"}}"#)).await.result();
    }
    let waiting = second.legacy(&message::request("99", "tools/call", &script("return echo(mark = 'seventeenth')")));
    let waiting = second.send(&waiting).await;
    // Another person does not wait.
    assert_eq!(returned(&mut bob, "return echo(n = 1)").await, json!({"n": 1}));
    let seen = second.call("seen", "{}").await.structured();
    assert!(!seen.contains("seventeenth"), "it waits, in another session too: {seen}");
    assert_eq!(first.delete().await, 204);
    let answer = waiting.response().await;
    assert!(answer.structured().contains("seventeenth"), "{}", answer.raw);
}
