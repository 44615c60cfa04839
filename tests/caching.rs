//! For how long and for whom results may be kept: what clients are told, and what the proxy makes of what servers tell.

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::in_process::{Proxy, StdioProxy};
use crate::support::programs::fake_backend;

/// A server of the stateless era that says this about its lists.
fn keeps<'a>(ttl: &'a str, scope: &'a str, more: &[&'a str]) -> std::process::Command {
    let flags = ["--era", "modern", "--resources", "--prompts", "--ttl", ttl, "--scope", scope];
    fake_backend(flags.into_iter().chain(more.iter().copied()))
}

/// Every client gets the same tools: only then a shared cache may keep them.
const ONE_FORM: &str = "clients: {dialects: off}";

async fn start(config: &Config) -> StdioProxy {
    Proxy::new(config).stdio()
}

async fn kept(proxy: &mut StdioProxy, method: &str, params: &str) -> (Value, Value) {
    let result = proxy.client.modern(method, params).await.value()["result"].clone();
    (result["ttlMs"].clone(), result["cacheScope"].clone())
}

const LISTS: [&str; 4] = ["tools/list", "resources/list", "resources/templates/list", "prompts/list"];

#[tokio::test]
async fn a_list_of_one_server_is_kept_as_the_server_says() {
    let mut proxy = start(&Config::new().server("fake", &keeps("60000", "public", &[])).section(ONE_FORM)).await;
    for method in LISTS {
        assert_eq!(kept(&mut proxy, method, "{}").await, (json!(60000), json!("public")), "{method}");
    }
    // What the proxy says of itself changes when its config does.
    assert_eq!(kept(&mut proxy, "server/discover", "{}").await, (json!(0), json!("private")));
}

#[tokio::test]
async fn tools_that_clients_get_in_different_forms_are_kept_by_one_client() {
    let mut proxy = start(&Config::new().server("fake", &keeps("60000", "public", &[]))).await;
    for method in LISTS {
        // Some clients also have a template with which they read large results.
        let is_private = matches!(method, "tools/list" | "resources/templates/list");
        let scope = if is_private { "private" } else { "public" };
        assert_eq!(kept(&mut proxy, method, "{}").await, (json!(60000), json!(scope)), "{method}");
    }
}

#[tokio::test]
async fn a_list_is_kept_as_the_least_of_its_parts() {
    let long = keeps("60000", "public", &[]);
    let short = keeps("5000", "public", &[]);
    let private = keeps("60000", "private", &[]);
    let older = fake_backend(["--era", "legacy", "--resources", "--prompts"]);
    for (second, ttl, scope) in [(&short, 5000, "public"), (&private, 60000, "private"), (&older, 0, "private")] {
        let mut proxy = start(&Config::new().server("one", &long).server("two", second).section(ONE_FORM)).await;
        for method in LISTS {
            assert_eq!(kept(&mut proxy, method, "{}").await, (json!(ttl), json!(scope)), "{method}");
        }
    }
}

#[tokio::test]
async fn a_list_with_something_that_a_script_made_is_not_kept() {
    let script = r#"sessionInit:
  script: |
    def hello(args):
        return "hello"

    for backend in backends().values():
        for meta, call in backend.tools():
            publish(meta, call)
    publish(metadata("hello", "Greets", {}, {}), hello)
    passthrough()
"#;
    let config = Config::new().server("fake", &keeps("60000", "public", &[])).section(script);
    let mut proxy = start(&config).await;
    assert_eq!(kept(&mut proxy, "tools/list", "{}").await, (json!(0), json!("private")));
    // The other lists have nothing of the script.
    assert_eq!(kept(&mut proxy, "prompts/list", "{}").await, (json!(60000), json!("public")));
}

#[tokio::test]
async fn a_server_that_is_down_may_come_back_with_another_list() {
    let failing = fake_backend(["--exit-immediately", "1"]);
    let config = Config::new().server("fake", &keeps("60000", "public", &[])).server("failing", &failing);
    let mut proxy = start(&config).await;
    assert_eq!(kept(&mut proxy, "tools/list", "{}").await, (json!(0), json!("private")));
}

#[tokio::test]
async fn a_list_that_nobody_follows_gets_older() {
    let server = keeps("60000", "public", &["--no-list-changed"]);
    let mut proxy = start(&Config::new().server("fake", &server).section(ONE_FORM)).await;
    let (first, scope) = kept(&mut proxy, "tools/list", "{}").await;
    assert_eq!(scope, "public");
    proxy.client.modern_call("slow", r#"{"ms":50}"#).await.result();
    let (second, _) = kept(&mut proxy, "tools/list", "{}").await;
    let (first, second) = (first.as_u64().unwrap(), second.as_u64().unwrap());
    assert!(second > 0 && second + 50 <= first && first <= 60000, "{first}, then {second}");
}

#[tokio::test]
async fn a_resource_is_kept_as_its_server_says() {
    let read = r#"{"uri":"memo://greeting"}"#;
    let mut proxy = start(&Config::new().server("fake", &keeps("7000", "public", &[]))).await;
    assert_eq!(kept(&mut proxy, "resources/read", read).await, (json!(7000), json!("public")));
    let older = fake_backend(["--era", "legacy", "--resources"]);
    let mut proxy = start(&Config::new().server("fake", &older)).await;
    assert_eq!(kept(&mut proxy, "resources/read", read).await, (json!(0), json!("private")));
}

#[tokio::test]
async fn a_client_of_a_session_is_told_nothing_of_that() {
    let mut proxy = start(&Config::new().server("fake", &keeps("7000", "public", &[]))).await;
    proxy.client.initialize("2025-11-25").await.result();
    for (method, params) in
        LISTS.map(|method| (method, "{}")).into_iter().chain([("resources/read", r#"{"uri":"memo://greeting"}"#)])
    {
        let result = proxy.client.request(method, params).await.value()["result"].clone();
        assert_eq!((result.get("ttlMs"), result.get("cacheScope")), (None, None), "{method}");
    }
}

async fn times_listed(proxy: &mut StdioProxy) -> usize {
    let seen = proxy.client.modern_call("seen", "{}").await.value();
    let messages = seen["result"]["structuredContent"]["messages"].as_array().cloned().unwrap_or_default();
    messages.iter().filter(|message| message.as_str().is_some_and(|text| text.contains(r#""tools/list""#))).count()
}

#[tokio::test]
async fn a_list_that_is_too_old_is_asked_for_again_when_somebody_looks() {
    let mut proxy = start(&Config::new().server("fake", &keeps("300", "public", &["--no-list-changed"]))).await;
    let before = proxy.client.modern("tools/list", "{}").await.tool_names();
    assert!(!before.contains(&"late".to_owned()));
    // Nothing tells the proxy of this.
    proxy.client.modern_call("add_tool", r#"{"name":"late"}"#).await.result();
    let known = times_listed(&mut proxy).await;
    proxy.client.modern_call("slow", r#"{"ms":1000}"#).await.result();
    assert!(times_listed(&mut proxy).await <= known, "nobody looked, so nobody asked");
    let after = proxy.client.modern("tools/list", "{}").await.tool_names();
    assert!(after.contains(&"late".to_owned()), "{after:?}");
}

#[tokio::test]
async fn a_list_that_is_too_old_is_used_all_the_same_if_its_server_does_not_answer() {
    let directory = crate::support::temp_dir::TempDir::new();
    let faults = directory.path().join("faults");
    let more = ["--no-list-changed", "--faults", faults.to_str().expect("a path is text")];
    let mut proxy = start(&Config::new().server("fake", &keeps("200", "public", &more))).await;
    let before = proxy.client.modern("tools/list", "{}").await.tool_names();
    directory.write("faults", "ignore tools/list\n");
    proxy.client.modern_call("slow", r#"{"ms":300}"#).await.result();
    assert_eq!(proxy.client.modern("tools/list", "{}").await.tool_names(), before);
}
