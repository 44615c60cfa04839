//! A changed file restarts the servers whose value changed, and nothing else.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::private;
use crate::support::config::Config;
use crate::support::patience::within;
use crate::support::programs::fake_backend;
use crate::support::proxy::{Proxy, StdioProxy};

fn entry(value: &str) -> Value {
    json!({"env": {"KEY": value}})
}

/// Two servers with a value each.
fn two(one: &str, two: &str) -> Config {
    Config::new()
        .server_with("one", &fake_backend(["--only", "env,pid"]), entry(one))
        .server_with("two", &fake_backend(["--only", "env,pid"]), entry(two))
        .section("aggregation: { conflictResolution: prefix }")
}

async fn serving(proxy: Proxy) -> StdioProxy {
    let mut proxy = proxy.stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy.tools().await;
    proxy
}

async fn answer(proxy: &mut StdioProxy, tool: &str) -> String {
    proxy.client.call(tool, "{}").await.structured()
}

#[tokio::test]
async fn a_changed_file_restarts_only_its_server() {
    let proxy = private(Proxy::new(&two("${file:keys/one}", "${file:keys/two}")), "keys/one", b"first-value\n");
    let mut proxy = serving(private(proxy, "keys/two", b"other-value\n")).await;
    let stderr = proxy.client.stderr().clone();
    let pids = (answer(&mut proxy, "one_pid").await, answer(&mut proxy, "two_pid").await);
    assert!(answer(&mut proxy, "one_env").await.contains("first-value"));
    proxy.world.directory.write("keys/one", "second-value\n");
    stderr.line("; restarted: `one`").await;
    assert!(answer(&mut proxy, "one_env").await.contains("second-value"));
    assert_eq!(answer(&mut proxy, "two_pid").await, pids.1);
    // Another text with the same value is no change.
    proxy.world.directory.write("keys/one", "second-value");
    stderr.times("reloaded proxy.yaml", 2).await;
    assert!(!stderr.text().contains("restarted: `two`") && stderr.text().matches("restarted").count() == 1);
    assert_ne!(answer(&mut proxy, "one_pid").await, pids.0);
    assert!(!stderr.text().contains("-value"));
}

#[tokio::test]
async fn a_value_that_is_bad_now_leaves_everything_as_it_was() {
    let proxy = private(Proxy::new(&two("${file:one}", "x")), "one", b"first-value\n");
    let mut proxy = serving(proxy).await;
    let stderr = proxy.client.stderr().clone();
    let pid = answer(&mut proxy, "one_pid").await;
    let file = proxy.world.directory.path().join("one");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
    stderr.line("`mcpServers.one.env.KEY`: cannot use the file `one`: every user may write it").await;
    stderr.line("proxy.yaml was not reloaded, the old config stays").await;
    assert_eq!(answer(&mut proxy, "one_pid").await, pid);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    stderr.line("reloaded proxy.yaml: 4 tools, as before\n".trim_end()).await;
    std::fs::remove_file(&file).unwrap();
    stderr.line("cannot use the file `one`: No such file").await;
    assert_eq!(answer(&mut proxy, "one_pid").await, pid);
    // A file that is missing is waited for.
    std::fs::write(&file, "later-value").unwrap();
    stderr.line("; restarted: `one`").await;
    assert!(answer(&mut proxy, "one_env").await.contains("later-value"));
}

#[tokio::test]
async fn commands_run_again_at_a_reload_and_restart_a_server_whose_value_changed() {
    let config = two("${exec:cat one}", "${exec:cat two}");
    let mut proxy = serving(Proxy::new(&config).file("one", "first-value").file("two", "other-value")).await;
    let stderr = proxy.client.stderr().clone();
    let pid = answer(&mut proxy, "two_pid").await;
    // A command names no file that could be watched.
    proxy.world.directory.write("one", "second-value");
    proxy.world.directory.write("proxy.yaml", &config.clone().section("# read again").text());
    stderr.line("; restarted: `one`").await;
    assert!(answer(&mut proxy, "one_env").await.contains("second-value"));
    assert_eq!(answer(&mut proxy, "two_pid").await, pid);
    // The same value from elsewhere is no change.
    let same = two("${exec:cat ./one}", "${file:two}");
    proxy.world.directory.write("proxy.yaml", &same.text());
    stderr.times("reloaded proxy.yaml", 2).await;
    assert_eq!(stderr.text().matches("restarted").count(), 1);
    std::fs::remove_file(proxy.world.directory.path().join("one")).unwrap();
    proxy.world.directory.write("proxy.yaml", &same.section("# read again").text());
    let told = stderr.line("the command `cat` ended with exit status 1: ").await;
    assert!(told.contains("./one: No such file"), "{told}");
    stderr.line("proxy.yaml was not reloaded").await;
    assert!(answer(&mut proxy, "one_env").await.contains("second-value"));
}

#[tokio::test]
async fn a_link_to_another_version_is_a_change() {
    // As Kubernetes replaces the files of a mounted secret.
    let proxy = private(Proxy::new(&two("${file:data/key}", "x")), "v1/key", b"first-value");
    let proxy = private(proxy, "v2/key", b"second-value");
    let folder = proxy.directory.path().to_owned();
    std::os::unix::fs::symlink("v1", folder.join("data")).unwrap();
    let mut proxy = serving(proxy).await;
    assert!(answer(&mut proxy, "one_env").await.contains("first-value"));
    std::os::unix::fs::symlink("v2", folder.join("swapped")).unwrap();
    std::fs::rename(folder.join("swapped"), folder.join("data")).unwrap();
    proxy.client.stderr().line("; restarted: `one`").await;
    assert!(answer(&mut proxy, "one_env").await.contains("second-value"));
}

#[tokio::test]
async fn a_secret_stays_hidden_in_the_log_after_a_reload_that_was_refused() {
    // Given a server that gets a secret, and a log of every message
    let flow = "flow: { rules: [{ when: [secret], then: egress, do: deny }] }";
    let proxy = Proxy::new(&two("${file:one}", "x").section(flow)).argument("--log").argument("trace");
    let mut proxy = serving(private(proxy, "one", b"first-value\n")).await;
    let stderr = proxy.client.stderr().clone();
    assert!(answer(&mut proxy, "one_env").await.contains("first-value"));
    stderr.line("•••").await;
    // When a config with another value is refused
    proxy.world.directory.write("proxy.yaml", &two("other-value", "x").text());
    stderr.line("`flow` was removed").await;
    let hidden = stderr.text().matches("•••").count();
    assert!(answer(&mut proxy, "one_env").await.contains("first-value"));
    // Then the log still hides the one in use
    stderr.times("•••", hidden + 1).await;
    assert!(!stderr.text().contains("first-value"));
    // And of an accepted config, its own
    proxy.world.directory.write("proxy.yaml", &two("other-value", "x").section(flow).text());
    stderr.line("; restarted: `one`").await;
    let hidden = stderr.text().matches("•••").count();
    assert!(answer(&mut proxy, "one_env").await.contains("other-value"));
    stderr.times("•••", hidden + 1).await;
    assert!(!stderr.text().contains("first-value") && !stderr.text().contains("other-value"));
}

#[tokio::test]
async fn a_file_that_does_not_answer_holds_up_no_call() {
    // Given a config file on something like a mount that is gone: whoever reads it waits
    let mut proxy = serving(Proxy::new(&two("first-value", "x"))).await;
    let stderr = proxy.client.stderr().clone();
    let folder = proxy.world.directory.path().to_owned();
    let silent = folder.join("silent");
    assert!(std::process::Command::new("mkfifo").arg(&silent).status().expect("mkfifo").success());
    std::fs::rename(&silent, folder.join("proxy.yaml")).unwrap();
    // When the proxy reads it, which lets the other end be opened
    let opened = tokio::task::spawn_blocking(move || {
        std::fs::OpenOptions::new().write(true).open(folder.join("proxy.yaml")).expect("the other end")
    });
    let writer = within("the reader", &stderr, opened).await.expect("an open file");
    // Then calls are answered
    let answered = within("an answer", &stderr, answer(&mut proxy, "one_env")).await;
    assert!(answered.contains("first-value"));
    // And what the file says at last counts
    drop(writer);
    stderr.line("proxy.yaml was not reloaded, the old config stays").await;
}
