//! The section `aggregation` and the preset that reads it.

use super::started;
use crate::support::config::Config;
use crate::support::finished::Finished;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

/// `github` has search and issue, `docs` search and read, `web` search and fetch.
fn three(aggregation: &str) -> Proxy {
    let config = [("github", "search,issue"), ("docs", "search,read"), ("web", "search,fetch")]
        .into_iter()
        .fold(Config::new(), |config, (name, tools)| config.server(name, &fake_backend(["--only", tools])));
    Proxy::new(&config.section(&format!("aggregation: {{ {aggregation} }}")))
}

async fn tools(aggregation: &str) -> Vec<String> {
    started(three(aggregation)).await.tools().await
}

#[tokio::test]
async fn auto_keeps_the_first_name_and_prefixes_later_ones() {
    let expected = ["search", "issue", "docs_search", "read", "web_search", "fetch"];
    assert_eq!(tools("conflictResolution: auto").await, expected);
}

#[tokio::test]
async fn prefix_goes_on_every_name() {
    let names = tools("conflictResolution: prefix, conflictResolutionConfig: { prefixFormat: \"{workload}.\" }").await;
    assert_eq!(names, ["github.search", "github.issue", "docs.search", "docs.read", "web.search", "web.fetch"]);
}

#[tokio::test]
async fn priority_lets_the_first_ranked_server_win() {
    let mut proxy =
        started(three("conflictResolution: priority, conflictResolutionConfig: { priorityOrder: [web] }")).await;
    assert_eq!(proxy.tools().await, ["issue", "read", "search", "fetch"]);
    let line = proxy.client.stderr().line("a tool is dropped: another server ranks higher").await;
    assert!(line.contains("github") && line.contains("web"), "{line}");
}

#[tokio::test]
async fn manual_wants_every_collision_resolved() {
    let proxy = three("conflictResolution: manual");
    let finished = Finished::run(proxy.serve_command()).await.expect(1);
    let expected = "these names are not unique: `search` (github.search, docs.search, web.search)";
    assert!(finished.stderr.contains(expected), "{}", finished.stderr);
    let names = tools(
        "conflictResolution: manual, tools: [{ workload: docs, overrides: { search: { name: find } } }, \
         { workload: web, overrides: { search: { name: look } } }]",
    )
    .await;
    assert_eq!(names, ["search", "issue", "find", "read", "look", "fetch"]);
}

#[tokio::test]
async fn what_is_filtered_out_cannot_be_called() {
    let mut proxy =
        started(three("tools: [{ workload: github, filter: [\"iss*\"] }, { workload: web, excludeAll: true }]")).await;
    assert_eq!(proxy.tools().await, ["issue", "search", "read"]);
    assert_eq!(proxy.client.call("fetch", "{}").await.error_code(), -32602);
}

#[tokio::test]
async fn overrides_change_names_and_words_and_calls_find_the_way_back() {
    let mut proxy = started(three(
        "tools: [{ workload: web, overrides: { fetch: { name: get_page, description: Gets a page, \
         annotations: { readOnlyHint: true } } } }]",
    ))
    .await;
    let list = proxy.client.request("tools/list", "{}").await.value();
    let tool = list["result"]["tools"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((tool["name"].as_str(), tool["description"].as_str()), (Some("get_page"), Some("Gets a page")));
    assert_eq!(tool["annotations"]["readOnlyHint"], true);
    assert_eq!(proxy.client.call("get_page", r#"{"n":1.10}"#).await.structured(), r#"{"n":1.10}"#);
}

#[tokio::test]
async fn nothing_or_only_what_is_named_can_be_shown() {
    assert_eq!(tools("excludeAllTools: true").await, [""; 0]);
    assert_eq!(tools("defaultToolVisibility: deny").await, [""; 0]);
    assert_eq!(tools("defaultToolVisibility: deny, tools: [{ workload: docs }]").await, ["search", "read"]);
}

#[tokio::test]
async fn names_have_at_most_64_characters_and_stay_the_same() {
    let long = "x".repeat(100);
    let proxy = || {
        let config = Config::new()
            .server("one", &fake_backend(["--only", &long]))
            .server("two", &fake_backend(["--only", &long]));
        Proxy::new(&config)
    };
    let mut running = started(proxy()).await;
    let names = running.tools().await;
    assert_eq!(names.len(), 2);
    assert!(names.iter().all(|name| name.len() == 64), "{names:?}");
    assert!(names.iter().all(|name| name.starts_with("xxx")) && names[0] != names[1], "{names:?}");
    assert_eq!(running.client.call(&names[1], r#"{"n":1}"#).await.structured(), r#"{"n":1}"#);
    assert_eq!(started(proxy()).await.tools().await, names);
}
