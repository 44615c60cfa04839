//! A first start, when nothing is known about the servers: a client that lists only once has everything.

use std::fs;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::support::config::Config;
use crate::support::http_request::HttpRequest;
use crate::support::patience::{LONG_PATIENCE, within};
use crate::support::program::Program;
use crate::support::programs::fake_backend;
use crate::support::proxy::{Proxy, StdioProxy};
use crate::support::temp_dir::TempDir;
use crate::support::{message, real_servers};

const LIST_CHANGED: &str = "notifications/tools/list_changed";

async fn start(world: Proxy) -> StdioProxy {
    let mut proxy = world.stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy
}

/// A server that takes so many milliseconds to start.
fn slow(milliseconds: &str, tool: &str) -> Command {
    fake_backend(["--start-delay", milliseconds, "--only", tool])
}

/// A server that takes as long to start as the file says, in seconds.
fn as_slow_as(directory: &TempDir, tool: &str) -> Command {
    let server = fake_backend(["--only", tool]);
    let mut command = Command::new("sh");
    let line = format!("sleep \"$(cat {})\"; exec \"$0\" \"$@\"", directory.path().join("seconds").display());
    command.args(["-c", &line]).arg(server.get_program()).args(server.get_args());
    command
}

/// The number of tools of each server, by a command that waits for all of them.
fn tools_of_servers(world: &Proxy) -> Vec<(String, u64)> {
    let output = world.command(["list-servers", "--json"]).output().expect("the proxy runs");
    let servers: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|problem| panic!("{problem}: {}", String::from_utf8_lossy(&output.stderr)));
    let server = |server: &Value| Some((server["name"].as_str()?.to_owned(), server["tools"].as_u64()?));
    servers.as_array().expect("a list").iter().filter_map(server).collect()
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn a_client_that_lists_once_has_the_tools_of_eighteen_servers() {
    let directory = TempDir::new();
    let six = || {
        let files = directory.directory("files");
        Some((
            Config::new()
                .server("everything", &real_servers::everything()?)
                .server("filesystem", &real_servers::filesystem(&files)?)
                .server("memory", &real_servers::memory(directory.path())?)
                .server("time", &real_servers::time()?)
                .server("git", &real_servers::git(&directory)?),
            real_servers::everything_over_http()?,
        ))
    };
    let Some((config, (sixth, url))) = six() else { return };
    let (mut program, _stdin, _stdout) = Program::start(sixth);
    program.stderr.patience = LONG_PATIENCE;
    program.stderr.line("listening on port").await;
    let config = config.remote("remote", &url).section("serve: {firstList: 60s}");
    let config =
        (1..=12).fold(config, |config, number| config.server(&format!("slow{number}"), &slow("2500", "echo,pid")));
    let mut proxy = Proxy::new(&config).stdio();
    proxy.client.program.stderr.patience = LONG_PATIENCE;
    // The command line counts what a client at a terminal sees.
    proxy.client.initialize_with("2025-11-25", r#"{"elicitation":{"form":{},"url":{}}}"#).await.result();
    let names = proxy.client.request("tools/list", "{}").await.tool_names();
    proxy.client.finish().await;
    let servers = tools_of_servers(&proxy.world);
    assert_eq!(servers.len(), 18);
    assert!(servers.iter().all(|(_, tools)| *tools > 0), "{servers:?}");
    assert_eq!(names.len() as u64, servers.iter().map(|(_, tools)| tools).sum::<u64>(), "{names:?}\n{servers:?}");
    assert_eq!(proxy.client.unclaimed().filter(|message| message.method().as_deref() == Some(LIST_CHANGED)).count(), 0);
}

#[tokio::test]
async fn a_server_that_is_known_is_not_waited_for() {
    let directory = TempDir::new();
    directory.write("seconds", "0");
    let world = Proxy::new(&Config::new().server("fake", &as_slow_as(&directory, "echo")));
    assert_eq!(tools_of_servers(&world), [("fake".to_owned(), 1)]);
    directory.write("seconds", "3600");
    let mut proxy = start(world).await;
    assert_eq!(proxy.tools().await, ["echo"]);
}

#[tokio::test]
async fn lists_wait_no_longer_than_the_config_says() {
    for first_list in ["0s", "700ms"] {
        let config = Config::new()
            .server("never", &slow("3600000", "echo"))
            .server("fast", &fake_backend(["--only", "pid"]))
            .section(&format!("serve: {{firstList: {first_list}}}"));
        let mut proxy = start(Proxy::new(&config)).await;
        proxy.client.tools_until(|names| names == ["pid"]).await;
    }
}

#[tokio::test]
async fn what_is_there_can_be_called_while_lists_wait() {
    let config = Config::new().server("never", &slow("3600000", "echo")).section("serve: {firstList: 10m}");
    let mut proxy = start(Proxy::new(&config.server("fast", &fake_backend(["--only", "pid"])))).await;
    let listing = proxy.client.begin("tools/list", "{}").await;
    let answer = proxy.client.call("pid", "{}").await;
    assert_ne!(answer.value()["result"]["isError"], true, "{}", answer.raw);
    assert!(!proxy.client.unclaimed().any(|message| message.id().as_deref() == Some(&listing)), "the list still waits");
}

#[tokio::test]
async fn a_call_waits_for_a_server_that_may_have_the_tool() {
    let config = Config::new().server("slow", &slow("3000", "echo")).server("fast", &fake_backend(["--only", "pid"]));
    let mut proxy = start(Proxy::new(&config)).await;
    assert_eq!(proxy.client.call("echo", r#"{"n":1}"#).await.structured(), r#"{"n":1}"#);
    let unknown = proxy.client.call("nothing", "{}").await;
    assert!(unknown.raw.contains("nothing"), "{}", unknown.raw);
}

#[tokio::test]
async fn a_call_that_waits_for_a_server_has_a_stream_and_can_be_cancelled() {
    let config = Config::new().server("never", &slow("3600000", "echo"));
    let proxy = Proxy::new(&config).http().await;
    let request = HttpRequest::modern("1", "tools/call", &message::call("echo", "{}"));
    assert!(proxy.client().send(&request).await.is_event_stream());

    let mut proxy = start(Proxy::new(&config)).await;
    let id = proxy.client.begin("tools/call", &message::call("echo", "{}")).await;
    proxy.client.notify("notifications/cancelled", &format!(r#"{{"requestId":{id}}}"#)).await;
    let log = proxy.client.stderr().clone();
    let client = &mut proxy.client;
    let answered = async {
        loop {
            client.send(&message::request(&id, "ping", "{}")).await;
            let answer = client.response(&id).await;
            if answer.value().get("result").is_some() {
                return;
            }
            assert!(answer.raw.contains("in use"), "{}", answer.raw);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    within("the id to be free again", &log, answered).await;
}

const NEEDS_SLOW: &str = r#"
if not backends()["slow"].tools():
    fail("the slow server has no tools")
for meta, call in backends()["slow"].tools():
    publish(meta, call)
"#;

#[tokio::test]
async fn a_script_that_needs_a_server_runs_again_when_it_is_there() {
    let config = Config::new()
        .server("slow", &slow("3000", "echo"))
        .server("fast", &fake_backend(["--only", "pid"]))
        .section("serve: {firstList: 1s}\nsessionInit: {scriptFile: need.star}");
    let mut proxy = start(Proxy::new(&config).file("need.star", NEEDS_SLOW)).await;
    assert_eq!(proxy.tools().await, ["echo"]);
    let warning = proxy.client.stderr().line("the session script failed; it runs again").await;
    assert!(warning.contains("WARN"), "{warning}");
}

#[tokio::test]
async fn a_script_that_fails_on_every_server_ends_the_proxy_and_leaves_the_caches_filled() {
    let config = Config::new()
        .server("slow", &slow("2500", "echo"))
        .server("fast", &fake_backend(["--only", "pid"]))
        .section("sessionInit: {scriptFile: fail.star}");
    let mut proxy = Proxy::new(&config).file("fail.star", "fail(\"never\")\n").stdio();
    assert_eq!(proxy.client.program.exit().await.code(), Some(1));
    proxy.client.stderr().line("error: never").await;
    let cached = fs::read_dir(proxy.world.directory.path().join("cache/starlark-mcp-proxy")).expect("a cache");
    let cached = cached.filter(|entry| entry.as_ref().is_ok_and(|entry| entry.path().extension().is_some()));
    assert_eq!(cached.count(), 2);
}

#[tokio::test]
async fn a_tool_keeps_its_name_when_a_late_server_has_one_of_the_same_name() {
    let config = Config::new()
        .server("late", &slow("2500", "echo"))
        .server("first", &fake_backend(["--only", "echo"]))
        .section("serve: {firstList: 0s}");
    let mut proxy = start(Proxy::new(&config)).await;
    proxy.client.tools_until(|names| names == ["echo"]).await;
    let before = proxy.client.request("tools/list", "{}").await;
    proxy.client.expect_notification(LIST_CHANGED).await;
    proxy.client.tools_until(|names| names == ["echo", "late_echo"]).await;
    let after = proxy.client.request("tools/list", "{}").await;
    assert_eq!(before.value()["result"]["tools"][0], after.value()["result"]["tools"][0]);
    let _ = proxy.client.call("late_echo", "{}").await.result();
    // The next start knows both servers, and the config decides.
    proxy.client.finish().await;
    let mut proxy = start(proxy.world).await;
    assert_eq!(proxy.tools().await, ["echo", "first_echo"]);
}

#[tokio::test]
async fn stateless_clients_wait_for_the_first_lists_too() {
    let config = Config::new().server("slow", &slow("2500", "echo")).server("fast", &fake_backend(["--only", "pid"]));
    let mut proxy = Proxy::new(&config).stdio();
    assert_eq!(proxy.client.modern("tools/list", "{}").await.tool_names(), ["echo", "pid"]);
    let proxy = Proxy::new(&config).http().await;
    let mut http = proxy.client();
    http.initialize("2025-11-25").await;
    assert_eq!(http.request("tools/list", "{}").await.tool_names(), ["echo", "pid"]);
}
