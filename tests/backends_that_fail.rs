//! One bad server: its own callers are told clearly, and nobody else notices.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::http_request::HttpRequest;
use crate::support::message::{self, Message};
use crate::support::modern::{modern_meta, with_meta};
use crate::support::program::Program;
use crate::support::programs::fake_backend;
use crate::support::proxy::{Proxy, StdioProxy};
use crate::support::temp_dir::TempDir;

const LIST_CHANGED: &str = "notifications/tools/list_changed";

fn legacy(flags: &[&str]) -> Command {
    fake_backend(["--era", "legacy"].into_iter().chain(flags.iter().copied()))
}

async fn start(config: &Config) -> StdioProxy {
    let mut proxy = Proxy::new(config).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy
}

async fn start_one(flags: &[&str], keys: Value) -> StdioProxy {
    start(&Config::new().server_with("fake", &legacy(flags), keys)).await
}

/// The fake backend behind a few lines of shell.
fn wrapped(before: &str, flags: &[&str]) -> Command {
    let server = legacy(flags);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{before}\nexec \"$0\" \"$@\"")]).arg(server.get_program()).args(server.get_args());
    command
}

/// A server that fails to start whenever the file says something odd.
struct Breakable {
    directory: TempDir,
}

impl Breakable {
    fn new() -> Self {
        let directory = TempDir::new();
        directory.write("era", "legacy");
        Self { directory }
    }

    fn command(&self, only: &str) -> Command {
        let era = format!("@{}", self.directory.path().join("era").display());
        fake_backend(["--era", &era, "--only", only])
    }

    fn break_it(&self) {
        self.directory.write("era", "broken");
    }

    fn mend(&self) {
        self.directory.write("era", "legacy");
    }
}

fn failure(answer: &Message) -> String {
    assert_eq!(answer.value()["result"]["isError"], true, "{}", answer.raw);
    answer.text()
}

#[tokio::test]
async fn noise_between_messages_is_passed_over() {
    let mut proxy = start_one(&["--banner", "--crlf"], json!({})).await;
    let client = &mut proxy.client;
    client.request("logging/setLevel", r#"{"level":"error"}"#).await.result();
    assert_eq!(client.call("garbage", r#"{"a":1}"#).await.structured(), r#"{"a":1}"#);
    assert_eq!(client.call("twice", "{}").await.text(), "first");
    assert_eq!(client.call("unknown_id", "{}").await.text(), "for you");
    assert_eq!(client.call("batch", "{}").await.text(), "batched");
    assert_eq!(client.call("flood", r#"{"n":20000}"#).await.structured(), r#"{"n":20000}"#);
    client.call("echo", "{}").await.result();
    assert_eq!(client.unclaimed().count(), 0, "nothing of it reaches the client");
}

#[tokio::test]
async fn an_answer_that_is_none_fails_its_call_at_once() {
    let mut proxy = start_one(&[], json!({})).await;
    for tool in ["both", "neither"] {
        assert!(failure(&proxy.client.call(tool, "{}").await).contains("`fake`"));
    }
    proxy.client.call("echo", "{}").await.result();
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_fails_its_call_at_once() {
    let mut proxy = start_one(&["--only", "raw,echo"], json!({"timeout": "60s"})).await;
    let deep = format!("{{\"content\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    for (result, reason) in [
        (r#"{"content":[],"structuredContent":{"x":NaN}}"#, "expected value"),
        (r#"{"content":[],"structuredContent":{"x":"\x"}}"#, "invalid escape"),
        (deep.as_str(), "nested too deeply"),
    ] {
        let answer = proxy.client.call("raw", &json!({"result": result}).to_string()).await;
        assert!(answer.raw.contains(reason), "{}", answer.raw);
    }
    assert_eq!(proxy.client.call("echo", r#"{"a":1}"#).await.structured(), r#"{"a":1}"#);
}

#[tokio::test]
async fn a_server_that_refuses_the_version_it_agreed_to_is_asked_once_more_and_then_reported() {
    let refusal = r#"{"code":-32022,"message":"unsupported","data":{"supported":[]}}"#;
    let (_server, url) = Program::start_server(fake_backend(["--era", "modern", "--http", "127.0.0.1:0"])).await;
    let mut proxy = start(&Config::new().remote("fake", &url)).await;
    assert!(failure(&proxy.client.call("rpc_error", refusal).await).contains("`fake`"));
    let seen = proxy.client.call("seen", "{}").await.structured();
    assert_eq!(seen.matches(r#"\"name\":\"rpc_error\""#).count(), 2);
    // Met anew after either refusal; the second time perhaps only after this look.
    let met = seen.matches(r#"\"method\":\"server/discover\""#).count();
    assert!((2..=3).contains(&met), "{seen}");

    let mut proxy = start(&Config::new().server("fake", &fake_backend(["--era", "modern"]))).await;
    let before = proxy.client.call("pid", "{}").await.structured();
    assert_eq!(proxy.client.call("rpc_error", refusal).await.error_code(), -32603);
    assert_eq!(proxy.client.call("pid", "{}").await.structured(), before, "on a pipe nothing is started again");
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_ended_on_both_sides() {
    let mut proxy = start_one(&[], json!({"timeout": "1s"})).await;
    let text = failure(&proxy.client.call("stall", "{}").await);
    assert!(text.contains("`fake` did not respond within"), "{text}");
    let seen = proxy.client.call("seen", r#"{"wait_for":"notifications/cancelled"}"#).await.value();
    let messages = seen["result"]["structuredContent"]["messages"].as_array().cloned().unwrap_or_default();
    let messages: Vec<Value> = messages.iter().filter_map(|text| serde_json::from_str(text.as_str()?).ok()).collect();
    let stalled = messages.iter().find(|message| message["params"]["name"] == "stall").expect("the call");
    let cancelled: Vec<_> = messages.iter().filter(|message| message["method"] == "notifications/cancelled").collect();
    assert_eq!(cancelled.len(), 1);
    assert_eq!(cancelled[0]["params"]["requestId"], stalled["id"]);
}

#[tokio::test]
async fn an_enormous_answer_fails_its_call_and_no_other() {
    let mut proxy = start_one(&["--only", "big,echo"], json!({"maxMessageBytes": "1MiB"})).await;
    let big = proxy.client.begin("tools/call", &message::call("big", r#"{"n":5000000}"#)).await;
    let other = proxy.client.begin("tools/call", &message::call("echo", r#"{"a":1}"#)).await;
    assert_eq!(proxy.client.response(&other).await.structured(), r#"{"a":1}"#);
    let text = failure(&proxy.client.response(&big).await);
    assert!(text.contains("`fake`") && text.contains("larger than 1048576 bytes"), "{text}");
    proxy.client.call("echo", "{}").await.result();
}

#[tokio::test]
async fn a_line_of_a_hundred_megabytes_that_answers_nothing_is_passed_over() {
    let noisy = wrapped(r"head -c 100000000 /dev/zero | tr '\0' x; echo", &["--only", "echo"]);
    let mut proxy = start(&Config::new().server("noisy", &noisy)).await;
    proxy.client.tools_until(|names| names == ["echo"]).await;
    proxy.client.call("echo", "{}").await.result();
    proxy.client.stderr().line("length=100000000").await;
}

#[tokio::test]
async fn servers_that_cannot_start_are_named_with_the_reason_and_the_others_serve() {
    let config = Config::new()
        .server("gone", &legacy(&["--exit-immediately", "7"]))
        .server("missing", &Command::new("no-such-program"))
        .server_with("deaf", &legacy(&["--never-answer"]), json!({"startTimeout": "500ms"}))
        .server("fine", &legacy(&["--only", "echo"]));
    let mut proxy = start(&config).await;
    assert_eq!(proxy.client.request("tools/list", "{}").await.tool_names(), ["echo"]);
    proxy.client.call("echo", "{}").await.result();
    let output = proxy.world.command(["list-servers", "--live", "--json"]).output().expect("the proxy runs");
    let servers: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let error = |at: usize| servers[at]["error"].as_str().unwrap_or_default().to_owned();
    assert!(error(0).contains("exit status: 7"), "{servers}");
    assert!(error(1).contains("`no-such-program` was not found"), "{servers}");
    assert!(error(2).contains("did not start within"), "{servers}");
    assert_eq!(servers[3]["status"], "ready");
}

#[tokio::test]
async fn a_required_server_that_cannot_start_ends_the_proxy() {
    let config = Config::new()
        .server_with("vital", &legacy(&["--exit-immediately", "3"]), json!({"required": true}))
        .server("fine", &legacy(&[]));
    let mut proxy = Proxy::new(&config).stdio();
    assert_eq!(proxy.client.program.exit().await.code(), Some(1));
    let said = proxy.client.stderr().line("required server").await;
    assert!(said.contains("`vital`") && said.contains("exit status: 3"), "{said}");
}

#[tokio::test]
async fn a_server_that_dies_takes_only_its_own_calls_with_it() {
    let config = Config::new()
        .server("mortal", &legacy(&["--only", "stall,crash,pid"]))
        .server("other", &legacy(&["--only", "reorder"]));
    let mut proxy = start(&config).await;
    let client = &mut proxy.client;
    let before = client.call("pid", "{}").await.structured();
    let lost = client.begin("tools/call", &message::call("stall", "{}")).await;
    let held = client.begin("tools/call", &message::call("reorder", r#"{"n":2}"#)).await;
    let crash = client.begin("tools/call", &message::call("crash", r#"{"code":9}"#)).await;
    for id in [lost, crash] {
        let text = failure(&client.response(&id).await);
        assert!(text.contains("`mortal`") && text.contains("exit status: 9"), "{text}");
    }
    // Called right away: the call brings the server back and waits for it.
    assert_ne!(client.call("pid", "{}").await.structured(), before);
    client.call("reorder", r#"{"n":2}"#).await.result();
    client.response(&held).await.result();
    assert_eq!(client.unclaimed().count(), 0, "the lists did not change");
}

#[tokio::test]
async fn a_dead_server_comes_back_by_itself() {
    let directory = TempDir::new();
    let tools = |names: &[&str]| {
        let tools: Vec<Value> =
            names.iter().map(|name| json!({"name": name, "inputSchema": {"type": "object"}})).collect();
        directory.write("tools.json", &json!(tools).to_string())
    };
    let file = tools(&["crash"]);
    let mut proxy = start_one(&["--tools", file.to_str().unwrap_or_default()], json!({})).await;
    proxy.client.tools_until(|names| names == ["crash"]).await;
    tools(&["crash", "new"]);
    failure(&proxy.client.call("crash", "{}").await);
    proxy.client.tools_until(|names| names == ["crash", "new"]).await;
}

#[tokio::test]
async fn a_malformed_tool_is_left_out_alone() {
    let mut proxy = start_one(&["--malformed-tool", "--only", "a,b"], json!({})).await;
    assert_eq!(proxy.client.request("tools/list", "{}").await.tool_names(), ["a", "b"]);
    let report = proxy.client.stderr().line("was left out").await;
    assert!(report.contains("fake"), "{report}");
}

#[tokio::test]
async fn lists_in_pages_are_read_to_their_end_and_no_further() {
    let mut proxy = start_one(&["--pages", "3", "--only", "a,b,c,d,e"], json!({})).await;
    assert_eq!(proxy.client.request("tools/list", "{}").await.tool_names(), ["a", "b", "c", "d", "e"]);
    let mut proxy = start_one(&["--repeat-cursor", "--only", "a,b"], json!({})).await;
    assert_eq!(proxy.client.request("tools/list", "{}").await.tool_names(), ["a", "b"]);
    proxy.client.stderr().line("repeats the cursor").await;
}

#[tokio::test]
async fn tools_without_a_name_of_their_own_are_left_out_alone() {
    let names = ["good", "", "a\nb", "good", "fine"];
    let tools: Vec<Value> = names.iter().map(|name| json!({"name": name, "inputSchema": {"type": "object"}})).collect();
    let directory = TempDir::new();
    let file = directory.write("tools.json", &json!(tools).to_string());
    let mut proxy = start_one(&["--tools", file.to_str().unwrap_or_default()], json!({})).await;
    assert_eq!(proxy.client.request("tools/list", "{}").await.tool_names(), ["good", "fine"]);
    for said in ["item 1 of `tools/list` was left out", "item 2 of", "item 3 of"] {
        proxy.client.stderr().line(said).await;
    }
}

#[tokio::test]
async fn a_server_that_only_shakes_hands_is_tried_ever_less_often_and_loses_its_grace() {
    let directory = TempDir::new();
    let (starts, faults) = (directory.write("starts", ""), directory.path().join("faults"));
    let flags = ["--only", "crash", "--faults", faults.to_str().unwrap_or_default()];
    let mortal = wrapped(&format!("echo started >> '{}'", starts.display()), &flags);
    let config = Config::new()
        .server_with("mortal", &mortal, json!({"grace": "3s"}))
        .server("other", &legacy(&["--only", "echo"]));
    let mut proxy = start(&config).await;
    proxy.client.tools_until(|names| names == ["crash", "echo"]).await;
    directory.write("faults", "refuse tools/list");
    directory.write("starts", "");
    failure(&proxy.client.call("crash", "{}").await);
    proxy.client.tools_until(|names| names == ["echo"]).await;
    let count = std::fs::read_to_string(&starts).unwrap_or_default().lines().count();
    // After 0.5 s, 1 s, 2 s; not every half second.
    assert!((1..=4).contains(&count), "started {count} times in 3 s");
}

#[tokio::test]
async fn a_server_that_dies_while_it_lists_still_offers_what_it_offered_before() {
    let directory = TempDir::new();
    let faults = directory.path().join("faults");
    let flags = ["--resources", "--only", "crash", "--faults", faults.to_str().unwrap_or_default()];
    let mut proxy = start_one(&flags, json!({})).await;
    let listed = proxy.client.request("resources/templates/list", "{}").await.raw;
    assert!(listed.contains("memo://notes/{name}"), "{listed}");
    directory.write("faults", "exit resources/templates/list");
    failure(&proxy.client.call("crash", "{}").await);
    proxy.client.stderr().times("connection lost", 2).await;
    let read = proxy.client.request("resources/read", r#"{"uri":"memo://notes/x"}"#).await;
    assert!(!read.raw.contains("resource not found"), "it may be read before the server dies again: {}", read.raw);
    // The next process starts with what was known.
    proxy.client.finish().await;
    let mut proxy = proxy.world.stdio();
    proxy.client.initialize("2025-11-25").await.result();
    let listed = proxy.client.request("resources/templates/list", "{}").await.raw;
    assert!(listed.contains("memo://notes/{name}"), "{listed}");
}

#[tokio::test]
async fn a_list_that_fails_later_costs_neither_the_connection_nor_the_old_list() {
    let directory = TempDir::new();
    let faults = directory.path().join("faults");
    let flags = ["--only", "pid,slow,add_tool", "--faults", faults.to_str().unwrap_or_default()];
    let mut proxy = start_one(&flags, json!({})).await;
    let client = &mut proxy.client;
    let before = client.call("pid", "{}").await.structured();
    let slow = client.begin("tools/call", &message::call("slow", r#"{"ms":700}"#)).await;
    directory.write("faults", "refuse tools/list");
    client.call("add_tool", r#"{"name":"added"}"#).await.result();
    client.stderr().line("`tools/list` failed: refused for now").await;
    assert_eq!(client.request("tools/list", "{}").await.tool_names(), ["pid", "slow", "add_tool"]);
    client.response(&slow).await.result();
    std::fs::remove_file(&faults).expect("the file is there");
    client.tools_until(|names| names == ["pid", "slow", "add_tool", "added"]).await;
    assert_eq!(client.call("pid", "{}").await.structured(), before);
}

#[tokio::test]
async fn a_server_that_never_lists_its_prompts_still_has_tools() {
    let directory = TempDir::new();
    let faults = directory.write("faults", "ignore prompts/list");
    let flags = ["--prompts", "--only", "echo", "--faults", faults.to_str().unwrap_or_default()];
    let mut proxy = start_one(&flags, json!({"timeout": "500ms"})).await;
    proxy.client.stderr().line("`prompts/list` was not answered within").await;
    proxy.client.tools_until(|names| names == ["echo"]).await;
    proxy.client.call("echo", "{}").await.result();
}

/// A server that starts when the file `go` appears in its folder.
fn late(directory: &TempDir, only: &str) -> Command {
    let go = directory.path().join("go");
    wrapped(&format!("while [ ! -e '{}' ]; do sleep 0.05; done", go.display()), &["--only", only])
}

#[tokio::test]
async fn a_late_server_delays_nobody_and_arrives_later_on_stdio() {
    let directory = TempDir::new();
    let config = Config::new()
        .server("late", &late(&directory, "late_tool"))
        .server("fast", &legacy(&["--only", "echo"]))
        .section("serve: {firstList: 2s}");
    let mut proxy = start(&config).await;
    let client = &mut proxy.client;
    assert_eq!(client.request("tools/list", "{}").await.tool_names(), ["echo"]);
    client.call("echo", "{}").await.result();
    let filter = r#"{"notifications":{"toolsListChanged":true}}"#;
    let listen = client.begin("subscriptions/listen", &with_meta(filter, &modern_meta())).await;
    client.expect_notification("notifications/subscriptions/acknowledged").await;
    directory.write("go", "");
    let told = [client.expect_notification(LIST_CHANGED).await, client.expect_notification(LIST_CHANGED).await];
    let subscriptions: Vec<Value> = told
        .iter()
        .map(|told| told.value()["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].clone())
        .filter(|id| !id.is_null())
        .collect();
    assert_eq!(subscriptions.len(), 1, "each era is told in its own way: {told:?}");
    assert_eq!(subscriptions[0].to_string(), listen);
    assert_eq!(client.request("tools/list", "{}").await.tool_names(), ["echo", "late_tool"]);
    client.call("late_tool", "{}").await.result();
}

#[tokio::test]
async fn a_late_server_delays_nobody_and_arrives_later_over_http() {
    let directory = TempDir::new();
    let config = Config::new()
        .server("late", &late(&directory, "late_tool"))
        .server("fast", &legacy(&["--only", "echo"]))
        .section("serve: {firstList: 2s}");
    let proxy = Proxy::new(&config).http().await;
    let mut client = proxy.client();
    client.initialize("2025-11-25").await.result();
    assert_eq!(client.request("tools/list", "{}").await.tool_names(), ["echo"]);
    assert_eq!(client.modern("tools/list", "{}").await.tool_names(), ["echo"]);
    let mut session = client.get_stream().await;
    let listen = HttpRequest::modern("77", "subscriptions/listen", r#"{"notifications":{"toolsListChanged":true}}"#);
    let mut subscription = client.send(&listen).await;
    let acknowledged = subscription.next_message().await.expect("an acknowledgment");
    assert_eq!(acknowledged.method().as_deref(), Some("notifications/subscriptions/acknowledged"));
    directory.write("go", "");
    let told = session.next_message().await.expect("the session is told");
    assert_eq!(told.method().as_deref(), Some(LIST_CHANGED));
    let told = subscription.next_message().await.expect("the subscription is told");
    assert_eq!(told.method().as_deref(), Some(LIST_CHANGED));
    assert_eq!(told.value()["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 77);
    assert_eq!(client.modern("tools/list", "{}").await.tool_names(), ["echo", "late_tool"]);
}

#[tokio::test]
async fn the_tools_of_a_dead_server_stay_for_a_while_and_names_never_move() {
    let (first, second) = (Breakable::new(), legacy(&["--only", "echo"]));
    let config = |grace: &str| {
        let keys = json!({"grace": grace});
        Config::new().server_with("first", &first.command("echo,crash"), keys).server("second", &second)
    };
    let mut patient = start(&config("10m")).await;
    let mut strict = start(&config("300ms")).await;
    let all = ["echo", "crash", "second_echo"];
    for proxy in [&mut patient, &mut strict] {
        assert_eq!(proxy.client.request("tools/list", "{}").await.tool_names(), all);
    }
    first.break_it();
    for proxy in [&mut patient, &mut strict] {
        failure(&proxy.client.call("crash", "{}").await);
    }
    strict.client.tools_until(|names| names == ["second_echo"]).await;
    assert_eq!(patient.client.request("tools/list", "{}").await.tool_names(), all);
    for proxy in [&mut patient, &mut strict] {
        let text = failure(&proxy.client.call("echo", "{}").await);
        assert!(text.contains("`first` is not available"), "the name is still that server's: {text}");
        proxy.client.call("second_echo", "{}").await.result();
    }
    first.mend();
    strict.client.tools_until(|names| names == all).await;
    strict.client.call("echo", "{}").await.result();
}

#[tokio::test]
async fn the_grace_period_ends_also_while_a_server_hangs_in_its_start() {
    let directory = TempDir::new();
    let hang = directory.path().join("hang");
    let before = format!("if [ -e '{}' ]; then exec sleep 1000; fi", hang.display());
    let config = Config::new()
        .server_with("hanging", &wrapped(&before, &["--only", "crash"]), json!({"grace": "1500ms"}))
        .server("other", &legacy(&["--only", "echo"]));
    let mut proxy = start(&config).await;
    proxy.client.tools_until(|names| names == ["crash", "echo"]).await;
    directory.write("hang", "");
    failure(&proxy.client.call("crash", "{}").await);
    proxy.client.tools_until(|names| names == ["echo"]).await;
}

#[tokio::test]
async fn what_a_server_last_offered_is_remembered_between_starts() {
    let (first, directory) = (Breakable::new(), TempDir::new());
    let starts = directory.write("starts", "");
    let count = || std::fs::read_to_string(&starts).unwrap_or_default().lines().count();
    let second = wrapped(&format!("echo started >> '{}'", starts.display()), &["--only", "echo"]);
    let config = Config::new().server("first", &first.command("echo,other")).server("second", &second);
    let names = ["echo", "other", "second_echo"];
    let mut proxy = start(&config).await;
    assert_eq!(proxy.client.request("tools/list", "{}").await.tool_names(), names);
    assert!(proxy.client.finish().await.success());

    first.break_it();
    let world = proxy.world;
    let before = count();
    let checked = world.command(["check", "--json", "--config", "proxy.yaml"]).output().expect("the proxy runs");
    let text = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.success() && names.iter().all(|name| text.contains(&format!("\"{name}\""))), "{text}");
    assert_eq!(count(), before, "a check starts nothing");

    let mut again = world.stdio();
    again.client.initialize("2025-11-25").await.result();
    assert_eq!(again.client.request("tools/list", "{}").await.tool_names(), names);
    assert!(failure(&again.client.call("echo", "{}").await).contains("`first` is not available"));
    again.client.call("second_echo", "{}").await.result();
    first.mend();
    again.client.stderr().line("cannot connect").await;
    while again.client.call("echo", "{}").await.value()["result"]["isError"] == true {}
}

#[tokio::test]
async fn a_server_gets_a_small_environment_its_own_folder_and_a_place_in_the_log() {
    let mut command = legacy(&["--stderr", "a word from the server"]);
    command.env("COLOUR", "teal");
    let config = Config::new().server_with("fake", &command, json!({"cwd": "sub"}));
    let world = Proxy::new(&config).environment("SECRET_OF_THE_PARENT", "1").environment("LC_ALL", "C");
    let world = world.argument("--log").argument("debug");
    let folder = world.directory.directory("sub").canonicalize().expect("the folder is there");
    let mut proxy = world.stdio();
    proxy.client.initialize("2025-11-25").await.result();
    let environment = proxy.client.call("env", "{}").await.value()["result"]["structuredContent"].clone();
    assert_eq!((&environment["COLOUR"], &environment["LC_ALL"]), (&json!("teal"), &json!("C")));
    assert!(environment["PATH"].is_string() && environment["HOME"].is_string());
    // The last is how a proxy among the servers knows that it was started by its own config.
    let allowed = ["PATH", "HOME", "USER", "LANG", "TMPDIR", "TZ", "SHELL", "TERM", "COLOUR", "PROXY_ANCESTORS"];
    for name in environment.as_object().expect("variables").keys() {
        let network = ["_PROXY", "_CERT_FILE", "_CERT_DIR", "_CA_CERTS", "_CA_BUNDLE"];
        let usual = name.starts_with("LC_")
            || name.starts_with("XDG_")
            || network.iter().any(|ending| name.to_ascii_uppercase().ends_with(ending));
        assert!(usual || allowed.contains(&name.as_str()), "{name} was handed on");
    }
    let cwd = proxy.client.call("cwd", "{}").await.value()["result"]["structuredContent"]["cwd"].clone();
    assert_eq!(cwd, json!(folder));
    let logged = proxy.client.stderr().line("a word from the server").await;
    assert!(logged.contains("fake"), "{logged}");
}

#[tokio::test]
async fn a_slow_call_holds_up_no_other() {
    let config =
        Config::new().server("one", &legacy(&["--only", "stall,echo"])).server("two", &legacy(&["--only", "pid"]));
    let mut proxy = start(&config).await;
    let client = &mut proxy.client;
    let slow = client.begin("tools/call", &message::call("stall", "{}")).await;
    client.call("echo", "{}").await.result();
    client.call("pid", "{}").await.result();
    client.request("tools/list", "{}").await.result();
    client.notify("notifications/cancelled", &format!(r#"{{"requestId":{slow}}}"#)).await;
    client.call("echo", "{}").await.result();
    assert_eq!(client.unclaimed().count(), 0, "a cancelled call is not answered");
}
