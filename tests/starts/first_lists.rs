//! Which servers the first list waits for, from the second start on.

use std::fs;

use serde_json::json;

use super::{LIST_CHANGED, hanging, noting, start, starts, with_tools};
use crate::support::config::Config;
use crate::support::proxy::{Proxy, StdioProxy};
use crate::support::temp_dir::TempDir;

fn with_first_list(config: &Config, first_list: &str) -> String {
    config.clone().section(&format!("serve: {{firstList: {first_list}}}")).text()
}

/// A world in which a first client has listed, and left before the server `never` could fail.
async fn second_start(config: &Config) -> Proxy {
    let mut proxy = start(Proxy::with_config_text(&with_first_list(config, "1s"))).await;
    assert_eq!(proxy.tools().await, ["pid"]);
    proxy.client.finish().await;
    proxy.world.directory.write("proxy.yaml", &with_first_list(config, "1h"));
    proxy.world
}

fn one_hangs() -> Config {
    Config::new().server_with("never", &hanging(), json!({"startTimeout": "1h"})).server("fast", &with_tools("pid"))
}

/// Lists wait: another request is answered, and the list is not.
async fn is_waiting(proxy: &mut StdioProxy) -> bool {
    let listing = proxy.client.begin("tools/list", "{}").await;
    let answer = proxy.client.call("pid", "{}").await;
    assert_ne!(answer.value()["result"]["isError"], true, "{}", answer.raw);
    !proxy.client.unclaimed().any(|message| message.id().as_deref() == Some(&listing))
}

#[tokio::test]
async fn a_server_that_hung_the_last_time_is_not_waited_for_again() {
    let mut proxy = start(second_start(&one_hangs()).await).await;
    assert_eq!(proxy.tools().await, ["pid"], "without the hour of `firstList`");
}

#[tokio::test]
async fn a_server_that_hung_and_starts_now_is_announced() {
    let directory = TempDir::new();
    directory.write("seconds", "3600");
    let script = format!("sleep \"$(cat {})\"; exec \"$0\" \"$@\"", directory.path().join("seconds").display());
    let config = Config::new()
        .server("slow", &noting(&directory, &script, &with_tools("echo")))
        .server("fast", &with_tools("pid"));
    let world = second_start(&config).await;
    directory.write("seconds", "4");
    let mut proxy = start(world).await;
    assert_eq!(proxy.tools().await, ["pid"]);
    proxy.client.expect_notification(LIST_CHANGED).await;
    assert_eq!(proxy.tools().await, ["pid", "echo"]);
    assert_eq!(starts(&directory), 2, "one start for each proxy");
}

#[tokio::test]
async fn a_new_or_edited_server_is_waited_for() {
    let world = second_start(&one_hangs()).await;
    let edited = Config::new()
        .server_with("never", &hanging(), json!({"startTimeout": "2h"}))
        .server("fast", &with_tools("pid"));
    world.directory.write("proxy.yaml", &with_first_list(&edited, "1h"));
    let mut proxy = start(world).await;
    assert!(is_waiting(&mut proxy).await);
}

#[tokio::test]
async fn a_cache_of_an_older_version_or_without_sense_costs_nothing_but_time() {
    let world = second_start(&one_hangs()).await;
    let folder = world.directory.path().join("cache/starlark-mcp-proxy");
    for file in fs::read_dir(folder).expect("a cache").flatten().filter(|file| file.path().extension().is_some()) {
        let text = fs::read_to_string(file.path()).expect("text");
        // Older versions did not note with which entry a server failed.
        fs::write(file.path(), text.replace("\"entry\"", "\"other\"")).expect("it can be written");
    }
    let mut proxy = start(world).await;
    assert!(is_waiting(&mut proxy).await, "it may have failed with another entry");
    proxy.client.finish().await;
    let folder = proxy.world.directory.path().join("cache/starlark-mcp-proxy");
    for file in fs::read_dir(folder).expect("a cache").flatten().filter(|file| file.path().is_file()) {
        fs::write(file.path(), "{\"entries\": 5").expect("it can be written");
    }
    let mut proxy = start(proxy.world).await;
    assert!(is_waiting(&mut proxy).await);
}

#[tokio::test]
async fn a_call_of_an_unknown_name_says_that_a_server_is_still_starting() {
    let config = one_hangs().section("serve: {firstList: 1s}");
    let mut proxy = start(Proxy::new(&config)).await;
    let unknown = proxy.client.call("nothing", "{}").await;
    assert!(unknown.raw.contains("a server is still starting") && unknown.raw.contains("-32602"), "{}", unknown.raw);
    assert!(!unknown.raw.contains("never"), "which one is for the operator: {}", unknown.raw);
    let proxy = Proxy::new(&Config::new().server("fast", &with_tools("pid")));
    let unknown = start(proxy).await.client.call("nothing", "{}").await;
    assert!(!unknown.raw.contains("starting"), "{}", unknown.raw);
}

#[tokio::test]
async fn a_list_waits_for_a_change_that_was_announced_before() {
    let mut proxy = start(Proxy::new(&Config::new().server("fake", &with_tools("add_tool,pid")))).await;
    proxy.client.tools_until(|names| names == ["add_tool", "pid"]).await;
    for number in 0..20 {
        let name = format!("added{number}");
        proxy.client.call("add_tool", &json!({"name": name}).to_string()).await.result();
        assert!(proxy.tools().await.contains(&name), "{name} was announced before the list was asked for");
    }
}

const INSTRUCTIONS: &str = "instructions(\"Ask before you write.\")\n";

#[tokio::test]
async fn instructions_of_the_script_are_sent_although_a_server_was_never_up() {
    let config = one_hangs().section("sessionInit: {scriptFile: own.star}");
    let mut proxy = Proxy::new(&config).file("own.star", INSTRUCTIONS).stdio();
    let answer = proxy.client.initialize("2025-11-25").await;
    assert!(answer.raw.contains("Ask before you write."), "{}", answer.raw);
    let mut proxy = Proxy::new(&config).file("own.star", INSTRUCTIONS).stdio();
    let answer = proxy.client.modern("server/discover", "{}").await;
    assert!(answer.raw.contains("Ask before you write."), "{}", answer.raw);
}
