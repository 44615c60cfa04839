//! How often a server is started, and how long it may take.

use serde_json::json;

use super::{LIST_CHANGED, hanging, noting, start, starts, with_tools};
use crate::support::config::Config;
use crate::support::proxy::Proxy;
use crate::support::temp_dir::TempDir;

/// Runs a command that tries to start every server once.
fn try_servers(world: &Proxy) -> String {
    let output = world.command(["list-servers", "--json"]).output().expect("the proxy runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test]
async fn a_server_that_exits_at_once_is_started_once() {
    let directory = TempDir::new();
    let server = noting(&directory, "echo no key >&2; exit 3", &with_tools("echo"));
    let shown = try_servers(&Proxy::new(&Config::new().server("dead", &server)));
    assert!(shown.contains("no key"), "{shown}");
    assert_eq!(starts(&directory), 1, "{shown}");
}

#[tokio::test]
async fn a_server_that_reads_the_request_and_exits_is_asked_in_the_other_era() {
    let directory = TempDir::new();
    let server = noting(&directory, "read line; exit 3", &with_tools("echo"));
    let shown = try_servers(&Proxy::new(&Config::new().server("dead", &server)));
    assert_eq!(starts(&directory), 2, "{shown}");
}

#[tokio::test]
async fn a_server_that_exits_in_one_era_only_is_met_in_the_other() {
    let directory = TempDir::new();
    let script = r#"read line; case "$line" in *initialize*) exit 3;; esac; (echo "$line"; cat) | "$0" "$@""#;
    let server = noting(&directory, script, &with_tools("echo"));
    let mut proxy = start(Proxy::new(&Config::new().server("picky", &server))).await;
    proxy.client.tools_until(|names| names == ["echo"]).await;
    assert_eq!(starts(&directory), 2);
}

#[tokio::test]
async fn a_server_that_is_at_work_is_not_ended() {
    // Two seconds of computing, and of reading with little of it: both are longer than `startTimeout`.
    let computing = "end=$(($(date +%s) + 3)); while [ $(date +%s) -lt $end ]; do :; done; exec \"$0\" \"$@\"";
    let reading =
        "for i in 1 2 3 4 5 6 7 8; do head -c 20000 /dev/zero > /dev/null; sleep 0.3; done; exec \"$0\" \"$@\"";
    for script in [computing, reading] {
        let directory = TempDir::new();
        let server = noting(&directory, script, &with_tools("echo"));
        let config = Config::new().server_with("slow", &server, json!({"startTimeout": "1s"}));
        let mut proxy = start(Proxy::new(&config)).await;
        assert_eq!(proxy.tools().await, ["echo"]);
        assert_eq!(starts(&directory), 1, "{script}");
    }
}

#[tokio::test]
async fn the_tools_of_a_known_server_stay_listed_while_it_is_at_work() {
    let directory = TempDir::new();
    directory.write("seconds", "0");
    let computing = format!(
        "end=$(($(date +%s) + $(cat {}))); while [ $(date +%s) -lt $end ]; do :; done; exec \"$0\" \"$@\"",
        directory.path().join("seconds").display()
    );
    let server = noting(&directory, &computing, &with_tools("echo"));
    let config = Config::new().server_with("slow", &server, json!({"grace": "1s"}));
    let mut proxy = start(Proxy::new(&config)).await;
    assert_eq!(proxy.tools().await, ["echo"]);
    proxy.client.finish().await;
    directory.write("seconds", "5");
    let mut proxy = start(proxy.world).await;
    assert_eq!(proxy.tools().await, ["echo"]);
    proxy.client.call("echo", "{}").await.result();
    assert_eq!(proxy.client.unclaimed().filter(|one| one.method().as_deref() == Some(LIST_CHANGED)).count(), 0);
}

#[tokio::test]
async fn a_server_that_only_waits_has_more_time_at_each_attempt() {
    let directory = TempDir::new();
    let server = noting(&directory, "sleep 2; exec \"$0\" \"$@\"", &with_tools("echo"));
    let config = Config::new()
        .server_with("slow", &server, json!({"startTimeout": "300ms", "restart": {"maxBackoff": "100ms"}}))
        .section("serve: {firstList: 0s}");
    let mut proxy = start(Proxy::new(&config)).await;
    proxy.client.tools_until(|names| names == ["echo"]).await;
    assert!(starts(&directory) > 1, "the first attempt was too short");
}

#[tokio::test]
async fn a_server_that_prints_for_ever_delays_nobody_but_those_who_wait_for_it() {
    let directory = TempDir::new();
    let printing = noting(&directory, "exec yes", &with_tools("echo"));
    let config = Config::new()
        .server_with("loud", &printing, json!({"startTimeout": "200ms", "log": "off"}))
        .server("fast", &with_tools("pid"))
        .section("serve: {firstList: 1s}");
    let mut proxy = start(Proxy::new(&config)).await;
    assert_eq!(proxy.tools().await, ["pid"]);
    assert_ne!(proxy.client.call("pid", "{}").await.value()["result"]["isError"], true);
    assert_eq!(starts(&directory), 1, "it writes, so it may still be starting");
}

#[tokio::test]
async fn a_server_that_forks_and_leaves_is_not_waited_for() {
    let directory = TempDir::new();
    let server = noting(&directory, "sleep 3600 & exit 0", &with_tools("echo"));
    let shown = try_servers(&Proxy::new(&Config::new().server("daemon", &server)));
    assert!(shown.contains("failed"), "{shown}");
    assert_eq!(starts(&directory), 1);
}

#[tokio::test]
async fn a_required_server_ends_the_proxy_after_its_first_attempt() {
    let config = Config::new().server_with("needed", &hanging(), json!({"required": true, "startTimeout": "300ms"}));
    let refused = Proxy::new(&config).refused().await;
    assert!(refused.stderr.contains("required server `needed` did not start"), "{}", refused.stderr);
}

#[tokio::test]
async fn defaults_hold_for_every_server_that_says_nothing_else() {
    let config = Config::new()
        .server_with("patient", &with_tools("slow"), json!({"timeout": "10m"}))
        .server("hasty", &with_tools("stall"))
        .section("defaults: {timeout: 300ms, inheritEnv: [NOTHING_*]}");
    let mut proxy = start(Proxy::new(&config)).await;
    proxy.client.tools_until(|names| names.len() == 2).await;
    let stalled = proxy.client.call("stall", "{}").await;
    assert!(stalled.raw.contains("did not respond within 0.3"), "{}", stalled.raw);
    let slow = proxy.client.call("slow", r#"{"ms":700}"#).await;
    assert_ne!(slow.value()["result"]["isError"], true, "{}", slow.raw);
    assert_eq!(proxy.client.unclaimed().filter(|one| one.method().as_deref() == Some(LIST_CHANGED)).count(), 0);
}
