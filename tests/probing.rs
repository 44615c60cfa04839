//! Which era a server speaks is found out, however oddly it behaves when it is asked.

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::program::Program;
use crate::support::programs::{fake_backend, fake_http_backend, rmcp_server};
use crate::support::proxy::Proxy;
use crate::support::stdio_client::StdioClient;
use crate::support::temp_dir::TempDir;

const DISCOVER: &str = r#"\"method\":\"server/discover\""#;
const INITIALIZE: &str = r#"\"method\":\"initialize\""#;
const MODERN: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;

fn quick() -> Value {
    json!({"probeTimeout": "300ms"})
}

/// A session through a proxy in front of one server.
async fn through(config: &Config) -> crate::support::proxy::StdioProxy {
    let mut proxy = Proxy::new(config).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy
}

/// A server may come later than the first list.
async fn listed(client: &mut StdioClient, tool: &str) {
    client.tools_until(|names| names.iter().any(|name| name == tool)).await;
}

/// What the only server saw, and the params of a call to it.
async fn met(flags: &[&str]) -> (String, String) {
    let config = Config::new().server_with("fake", &fake_backend(flags.iter().copied()), quick());
    let mut proxy = through(&config).await;
    listed(&mut proxy.client, "params").await;
    let params = proxy.client.call("params", "{}").await.structured();
    (proxy.client.call("seen", "{}").await.structured(), params)
}

/// The state of the only server, by `proxy list-servers`.
fn state_of(config: &Config) -> Value {
    let output = Proxy::new(config).command(["list-servers", "--json"]).output().expect("the proxy runs");
    let servers: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|problem| panic!("{problem}: {}", String::from_utf8_lossy(&output.stderr)));
    servers[0].clone()
}

#[tokio::test]
async fn older_servers_of_every_kind_are_used_in_their_own_way() {
    for odd in [
        &["--discover-error", "-32601"][..],
        &["--discover-error", "-32602"],
        &["--discover-error", "-32000"],
        &["--banner"],
        &["--silent-on-discover"],
        &["--exit-on-discover"],
        &["--version", "2024-11-05"],
    ] {
        let flags = [&["--era", "legacy"][..], odd].concat();
        let (seen, params) = met(&flags).await;
        assert_eq!(seen.matches(INITIALIZE).count(), 1, "{odd:?}: {seen}");
        assert!(!params.contains("io.modelcontextprotocol"), "{odd:?}: {params}");
    }
}

#[tokio::test]
async fn a_server_slow_to_start_is_recognised_all_the_same() {
    let (_, params) = met(&["--era", "modern", "--start-delay", "900"]).await;
    assert!(params.contains(MODERN), "{params}");
    let (seen, params) = met(&["--era", "legacy", "--start-delay", "900"]).await;
    assert_eq!((seen.matches(DISCOVER).count(), seen.matches(INITIALIZE).count()), (1, 1), "asked once each: {seen}");
    assert!(!params.contains("io.modelcontextprotocol"), "{params}");
}

#[tokio::test]
async fn a_server_slow_to_answer_over_http_is_recognised_all_the_same() {
    for era in ["modern", "legacy"] {
        let (_server, url) = fake_http_backend(&["--era", era, "--discover-delay", "900"]).await;
        let mut proxy = through(&Config::new().remote_with("fake", &url, quick())).await;
        listed(&mut proxy.client, "params").await;
        let params = proxy.client.call("params", "{}").await.structured();
        assert_eq!(params.contains(MODERN), era == "modern", "{params}");
    }
}

#[tokio::test]
async fn a_server_that_offers_only_older_versions_gets_the_newest_of_them() {
    let flags = ["--only-versions", "2025-06-18,2025-03-26"];
    let (seen, params) = met(&flags).await;
    assert_eq!((seen.matches(DISCOVER).count(), seen.matches(INITIALIZE).count()), (0, 1), "{seen}");
    assert_eq!(state_of(&Config::new().server("old", &fake_backend(flags)))["protocolVersion"], "2025-06-18");
    assert!(!params.contains("io.modelcontextprotocol"), "{params}");
    let config = Config::new().server("rmcp", &rmcp_server(["--legacy"]));
    assert_eq!(state_of(&config)["protocolVersion"], "2025-11-25");
}

#[tokio::test]
async fn a_server_without_a_common_version_is_reported() {
    let config = Config::new().server("future", &fake_backend(["--era", "modern", "--only-versions", "2031-01-01"]));
    let state = state_of(&config);
    assert_eq!(state["status"], "failed");
    assert!(state["error"].as_str().unwrap_or_default().contains("2031-01-01"), "{state}");
}

#[tokio::test]
async fn a_server_that_wants_a_token_says_nothing_about_its_era() {
    let (_server, url) = fake_http_backend(&["--era", "modern", "--require-bearer", "secret"]).await;
    let refused = state_of(&Config::new().remote("guarded", &url));
    let error = refused["error"].as_str().unwrap_or_default();
    assert_eq!(refused["status"], "login");
    assert!(error.contains("`proxy login guarded`"), "{error}");
    let headers = json!({"headers": {"Authorization": "Bearer secret"}});
    let admitted = state_of(&Config::new().remote_with("guarded", &url, headers));
    assert_eq!((&admitted["status"], &admitted["protocolVersion"]), (&json!("ready"), &json!("2026-07-28")));
}

#[tokio::test]
async fn a_web_page_is_no_server_and_the_report_says_what_it_was() {
    let (_server, url) = fake_http_backend(&["--html"]).await;
    let state = state_of(&Config::new().remote("page", &url));
    let error = state["error"].as_str().unwrap_or_default();
    assert_eq!(state["status"], "failed");
    assert!(error.contains("HTTP 200") && error.contains("text/html"), "{error}");
}

#[tokio::test]
async fn a_server_that_is_overloaded_has_no_era_yet() {
    let (_server, url) = fake_http_backend(&["--status", "503"]).await;
    let state = state_of(&Config::new().remote("busy", &url));
    assert!(state["error"].as_str().unwrap_or_default().contains("HTTP 503"), "{state}");
}

#[tokio::test]
async fn a_server_that_came_back_in_another_era_is_met_anew() {
    let directory = TempDir::new();
    let era = format!("@{}", directory.write("era", "legacy").display());
    let config = Config::new().server_with("fake", &fake_backend(["--era", &era]), quick());
    let mut proxy = through(&config).await;
    assert!(!proxy.client.call("params", "{}").await.structured().contains("io.modelcontextprotocol"));
    directory.write("era", "modern");
    assert_eq!(proxy.client.call("crash", "{}").await.value()["result"]["isError"], true);
    assert!(proxy.client.call("params", "{}").await.structured().contains(MODERN));
    proxy.client.call("add_tool", r#"{"name":"later"}"#).await.result();
    listed(&mut proxy.client, "later").await;
}

#[tokio::test]
async fn a_server_upgraded_behind_its_address_is_met_anew() {
    let (old, url) = fake_http_backend(&["--era", "legacy"]).await;
    let mut proxy = through(&Config::new().remote("fake", &url)).await;
    assert!(!proxy.client.call("params", "{}").await.structured().contains("io.modelcontextprotocol"));
    // The stream on which the old server would speak is open before it goes.
    let mut direct = HttpClient::new(&url, old.stderr.clone());
    direct.initialize("2025-11-25").await.result();
    direct.call("seen", r#"{"wait_for":"GET session="}"#).await.result();
    drop(old);
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
    let _new = Program::start_server(fake_backend(["--era", "modern", "--http", &address])).await;
    proxy.client.stderr().line("lost: ").await;
    assert!(proxy.client.call("params", "{}").await.structured().contains(MODERN));
}

/// Another server at the address of one that has just gone.
async fn in_place_of(old: Program, url: &str, flags: &[&str]) -> Program {
    drop(old);
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
    Program::start_server(fake_backend(["--http", address].into_iter().chain(flags.iter().copied()))).await.0
}

#[tokio::test]
async fn a_server_without_a_stream_that_turns_stateless_is_met_anew_by_the_call_that_finds_out() {
    let (old, url) = fake_http_backend(&["--era", "legacy", "--session", "off", "--no-get"]).await;
    let mut proxy = through(&Config::new().remote("fake", &url)).await;
    assert!(!proxy.client.call("params", "{}").await.structured().contains("io.modelcontextprotocol"));
    let _new = in_place_of(old, &url, &["--era", "modern"]).await;
    assert!(proxy.client.call("params", "{}").await.structured().contains(MODERN));
}

#[tokio::test]
async fn a_refusal_that_only_looks_like_another_era_stays_the_server_s_own() {
    let (_server, url) = fake_http_backend(&["--era", "legacy", "--json", "--error-status"]).await;
    let mut proxy = through(&Config::new().remote("fake", &url)).await;
    for code in [-32602, -32020] {
        let refused = proxy.client.call("rpc_error", &format!(r#"{{"code":{code},"status":400}}"#)).await;
        assert!(refused.member("error").is_some(), "{}", refused.raw);
    }
    let seen = proxy.client.call("seen", "{}").await.structured();
    assert_eq!(seen.matches(r#"\"name\":\"rpc_error\""#).count(), 2, "each was sent once: {seen}");
    assert_eq!(seen.matches(INITIALIZE).count(), 1, "and the session was kept: {seen}");
}

#[tokio::test]
async fn a_server_that_goes_back_and_forth_is_used_in_the_older_way() {
    let (mut server, url) = fake_http_backend(&["--era", "legacy"]).await;
    let mut proxy = through(&Config::new().remote("fake", &url)).await;
    listed(&mut proxy.client, "params").await;
    for (era, modern) in [("modern", true), ("legacy", false)] {
        server = in_place_of(server, &url, &["--era", era]).await;
        let answer = proxy.client.call_until_it_works("params", "{}").await;
        assert_eq!(answer.structured().contains(MODERN), modern, "{}", answer.raw);
    }
    proxy.client.stderr().line("changed its protocol era twice within a minute").await;
    let _server = in_place_of(server, &url, &["--era", "both"]).await;
    let answer = proxy.client.call_until_it_works("params", "{}").await;
    assert!(!answer.structured().contains("io.modelcontextprotocol"), "{}", answer.raw);
}

#[tokio::test]
async fn a_fleet_that_changes_its_mind_with_every_request_ends_in_answers() {
    let (_server, url) = fake_http_backend(&["--flip-era"]).await;
    let mut proxy = through(&Config::new().remote_with("fleet", &url, json!({"timeout": "3s"}))).await;
    for _ in 0..4 {
        let answer = proxy.client.call("params", "{}").await;
        assert!(answer.member("result").is_some() || answer.member("error").is_some());
    }
    let mut direct = HttpClient::new(&url, proxy.client.stderr().clone());
    let seen = loop {
        // Every other request of this client is answered in its era.
        let answer = direct.modern_call("seen", "{}").await;
        if answer.member("result").is_some() {
            break answer.structured();
        }
    };
    assert!(seen.matches(DISCOVER).count() < 20, "it is not probed over and over");
}
