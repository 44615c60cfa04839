//! The section `rateLimiting`: how often clients may use what the presets publish.

use serde_json::json;

use super::{TOKENS, client_of, session_of};
use crate::support::config::Config;
use crate::support::message::Message;
use crate::support::patience::PATIENCE;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

fn world(preset: &str, sections: &str) -> Proxy {
    let backend = fake_backend(["--only", "echo,params,seen"]);
    let config = Config::new().server("fake", &backend).section(TOKENS).section(sections);
    Proxy::new(&config.section(&format!("sessionInit: {{preset: {preset}}}")))
}

/// Whether the call was refused and may come again after so many seconds, less those that the test has taken.
fn is_refused(answer: &Message, seconds: u64) -> bool {
    let result = &answer.value()["result"];
    let Some(after) = result["structuredContent"]["retryAfterSeconds"].as_u64() else { return false };
    result["isError"] == true
        && (seconds.saturating_sub(PATIENCE.as_secs()).max(1)..=seconds).contains(&after)
        && result["structuredContent"] == json!({"retryAfterSeconds": after})
        && answer.text() == format!("too many requests: try again in {after} s")
}

#[tokio::test]
async fn each_user_has_their_own_limit_in_both_eras_beside_that_of_all() {
    let limits = "rateLimiting: {perUser: {maxTokens: 2, refillPeriod: 1h}, global: {maxTokens: 3, refillPeriod: 1h}}";
    let proxy = world("default", limits).http().await;
    let mut ann = session_of(&proxy, "secret-token-of-a").await;
    let mut stateless_ann = client_of(&proxy, "secret-token-of-a");
    assert_eq!(ann.call("echo", r#"{"n":1.10}"#).await.structured(), r#"{"n":1.10}"#);
    assert_eq!(stateless_ann.modern_call("echo", r#"{"n":1.10}"#).await.structured(), r#"{"n":1.10}"#);
    let refused = ann.call("echo", "{}").await;
    assert!(is_refused(&refused, 1800), "{}", refused.raw);
    let refused = stateless_ann.modern_call("echo", "{}").await;
    assert!(is_refused(&refused, 1800), "{}", refused.raw);
    // Those who were refused took nothing from the limit of all: there is one left.
    let mut bob = session_of(&proxy, "secret-token-of-b").await;
    assert_eq!(bob.call("echo", "{}").await.structured(), "{}");
    let refused = bob.call("echo", "{}").await;
    assert!(is_refused(&refused, 1200), "{}", refused.raw);
}

#[tokio::test]
async fn a_tool_has_a_limit_of_its_own_and_globs_share_one() {
    let limits = "rateLimiting:\n  tools:\n  - {name: echo, perUser: {maxTokens: 1, refillPeriod: 1m}}\n  \
                  - {name: 'p*', global: {maxTokens: 1, refillPeriod: 30s}}";
    let proxy = world("passthrough", limits).http().await;
    let (mut ann, mut bob) = (client_of(&proxy, "secret-token-of-a"), client_of(&proxy, "secret-token-of-b"));
    for client in [&mut ann, &mut bob] {
        assert_eq!(client.modern_call("echo", "{}").await.structured(), "{}");
        let refused = client.modern_call("echo", "{}").await;
        assert!(is_refused(&refused, 60), "{}", refused.raw);
    }
    ann.modern_call("params", "{}").await.structured();
    let refused = bob.modern_call("params", "{}").await;
    assert!(is_refused(&refused, 30), "{}", refused.raw);
}

#[tokio::test]
async fn through_call_tool_a_request_counts_once_and_as_the_tool_it_calls() {
    let limits = "rateLimiting: {perUser: {maxTokens: 3, refillPeriod: 1h}, \
                  tools: [{name: echo, perUser: {maxTokens: 1, refillPeriod: 1h}}]}";
    let proxy = world("optimizer", limits).http().await;
    let mut ann = session_of(&proxy, "secret-token-of-a").await;
    let echo = r#"{"tool_name":"echo","parameters":{"n":1}}"#;
    assert_eq!(ann.call("call_tool", echo).await.structured(), r#"{"n":1}"#);
    let refused = ann.call("call_tool", echo).await;
    assert!(is_refused(&refused, 3600), "{}", refused.raw);
    // Two of three are left for the user: the refused one cost nothing.
    for _ in 0..2 {
        let found = ann.call("find_tool", r#"{"tool_description":"echo"}"#).await;
        assert!(found.structured().contains("token_metrics"), "{}", found.raw);
    }
    let refused = ann.call("find_tool", r#"{"tool_description":"echo"}"#).await;
    assert!(is_refused(&refused, 1200), "{}", refused.raw);
}

#[tokio::test]
async fn a_tool_of_a_script_that_passes_calls_on_does_not_count_itself() {
    let script = r#"
load("@proxy//lib@1.star", "rate_limiter")
index = search_index(backends()["fake"].tools())
schema = {"type": "object", "properties": {"name": {"type": "string"}}}
publish(metadata("do", "", schema, {}), lambda args: index.call(args["name"], {}), over = index, name_argument = "name")
on_request = rate_limiter({"perUser": {"maxTokens": 1, "refillPeriod": 3600}})
"#;
    let config = Config::new().server("fake", &fake_backend(["--only", "echo"])).section(TOKENS);
    let proxy = Proxy::new(&config.section("sessionInit: {scriptFile: policy.star}")).file("policy.star", script);
    let proxy = proxy.http().await;
    let mut ann = session_of(&proxy, "secret-token-of-a").await;
    assert_eq!(ann.call("do", r#"{"name":"echo"}"#).await.structured(), "{}");
    let refused = ann.call("do", r#"{"name":"echo"}"#).await;
    assert!(is_refused(&refused, 3600), "{}", refused.raw);
}

#[tokio::test]
async fn calls_of_a_script_count_for_who_sent_it_and_a_refusal_can_be_caught() {
    let limits = "rateLimiting: {tools: [{name: echo, perUser: {maxTokens: 2, refillPeriod: 1h}}]}";
    let proxy = world("code-mode", limits).http().await;
    let (mut ann, mut bob) =
        (session_of(&proxy, "secret-token-of-a").await, session_of(&proxy, "secret-token-of-b").await);
    let script = "return [attempt(echo, n = n).error for n in range(3)]";
    let script = json!({ "script": script }).to_string();
    let refusal = "`echo`: too many requests: try again in 1";
    for client in [&mut ann, &mut bob] {
        let answer = client.call("execute_tool_script", &script).await;
        let errors = answer.value()["result"]["structuredContent"]["result"].clone();
        assert_eq!((&errors[0], &errors[1]), (&json!(""), &json!("")), "{}", answer.raw);
        assert!(errors[2].as_str().is_some_and(|error| error.starts_with(refusal)), "{}", answer.raw);
    }
    // Not caught it ends the script.
    let answer = ann.call("execute_tool_script", r#"{"script":"return echo()"}"#).await;
    assert_eq!(answer.value()["result"]["isError"], true, "{}", answer.raw);
    assert!(answer.text().starts_with(refusal), "{}", answer.text());
}

#[tokio::test]
async fn prompts_and_resources_are_refused_with_protocol_errors() {
    let limits = "rateLimiting:\n  prompts: [{name: '*', perUser: {maxTokens: 1, refillPeriod: 1m}}]\n  \
                  resources: [{name: '*', perUser: {maxTokens: 1, refillPeriod: 20s}}]";
    let config = Config::new()
        .server("fake", &fake_backend(["--only", "echo", "--resources", "--prompts"]))
        .section(TOKENS)
        .section(limits);
    let proxy = Proxy::new(&config).http().await;
    let mut ann = session_of(&proxy, "secret-token-of-a").await;
    let first = |list: &Message, kind: &str, key: &str| {
        list.value()["result"][kind][0][key].as_str().unwrap_or_default().to_owned()
    };
    let prompt = first(&ann.request("prompts/list", "{}").await, "prompts", "name");
    let uri = first(&ann.request("resources/list", "{}").await, "resources", "uri");
    for (method, params, seconds) in
        [("prompts/get", json!({"name": prompt}), 60), ("resources/read", json!({"uri": uri}), 20)]
    {
        ann.request(method, &params.to_string()).await.result();
        let refused = ann.request(method, &params.to_string()).await;
        let error = &refused.value()["error"];
        assert_eq!(error["data"], json!({"retryAfterSeconds": seconds}), "{}", refused.raw);
        assert_eq!(error["code"], -32603);
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.starts_with(&format!("too many requests: try again in {seconds} s")), "{message}");
    }
}

#[tokio::test]
async fn without_the_section_nothing_is_asked_before_a_call() {
    let proxy = world("default", "").http().await;
    let mut ann = session_of(&proxy, "secret-token-of-a").await;
    // An unwrapped tool: what the server says comes through as it is, and there is no hook in between.
    assert_eq!(ann.call("echo", r#"{"n":1.10}"#).await.structured(), r#"{"n":1.10}"#);
}
