//! What the log says: one line for each thing that happened, in the chosen form and place.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::{Value, json};

use super::empty;
use crate::support::config::Config;
use crate::support::programs::{fake_backend, fake_http_backend};
use crate::support::proxy::Proxy;
use crate::support::stdio_client::StdioClient;

/// A server that writes these lines to stderr and then works.
fn talkative(lines: &str) -> Command {
    talkative_with("echo,fail", lines)
}

fn talkative_with(tools: &str, lines: &str) -> Command {
    let fake = fake_backend(["--only", tools]);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{lines}; exec \"$0\" \"$@\"")]);
    command.arg(fake.get_program()).args(fake.get_args());
    command
}

fn serve(proxy: &Proxy, arguments: &[&str]) -> StdioClient {
    StdioClient::start(proxy.command(["serve", "--config", "proxy.yaml"].into_iter().chain(arguments.iter().copied())))
}

/// Everything on stderr, after the proxy was told to end.
async fn whole(mut client: StdioClient) -> String {
    client.program.terminate();
    client.program.exit().await;
    client.stderr().whole().await
}

#[tokio::test]
async fn the_start_of_eighteen_servers_fits_on_a_screen_and_ends_with_a_sum() {
    let mut config = Config::new();
    for number in 0..18 {
        let delay = if number < 12 { "100" } else { "0" };
        let mut fake = fake_backend(["--only", "echo", "--start-delay", delay]);
        fake.args(["--stderr", "npm warn deprecated\nnpm notice\nServer running on stdio"]);
        config = config.server(&format!("server{number}"), &fake);
    }
    let proxy = Proxy::new(&config);
    let mut client = serve(&proxy, &[]);
    client.initialize("2025-11-25").await.result();
    let last = client.stderr().line("servers are up").await;
    let log = client.stderr().text();
    assert!(last.starts_with("all 18 servers are up (") && last.ends_with(" s)"), "{last}");
    assert_eq!(log.lines().next_back(), Some(last.as_str()), "{log}");
    assert!(log.lines().count() < 30, "{log}");
    assert!(log.lines().all(|line| line.chars().count() <= 100), "{log}");
    assert!(log.contains(" INFO  server3: up in ") && log.contains(" s: 1 tool\n"), "{log}");
    assert!(!log.contains("npm"), "{log}");
}

#[tokio::test]
async fn a_server_that_fails_again_and_again_is_one_line() {
    let mut broken = Command::new("sh");
    broken.args(["-c", "echo x >> starts; echo no licence >&2; exit 3"]);
    let config = Config::new()
        .server("good", &fake_backend(["--only", "echo"]))
        .server("broken", &broken)
        .server("gone", &Command::new("no-such-program"));
    let proxy = Proxy::new(&config);
    let mut client = serve(&proxy, &[]);
    client.initialize("2025-11-25").await.result();
    let last = client.stderr().line("servers is up").await;
    assert_eq!(last, "1 of 3 servers is up; `broken`, `gone` failed");
    let starts = proxy.directory.path().join("starts");
    // Each attempt starts it once, so that two of them have failed by then.
    while std::fs::read_to_string(&starts).unwrap_or_default().lines().count() < 3 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let log = whole(client).await;
    let about = |name: &str| log.lines().filter(|line| line.contains(&format!("WARN  {name}: "))).collect::<Vec<_>>();
    let [line] = about("broken")[..] else { panic!("{log}") };
    assert!(line.contains("broken: cannot connect: its process exited (exit status: 3); "), "{line}");
    assert!(line.ends_with("no licence"), "{line}");
    let [line] = about("gone")[..] else { panic!("{log}") };
    assert!(line.contains("gone: cannot connect: the command `no-such-program` was not found in `PATH`"), "{line}");
}

#[tokio::test]
async fn a_server_that_has_worked_in_between_is_told_about_again() {
    let fake = fake_backend(["--only", "crash"]);
    let mut fickle = Command::new("sh");
    fickle.args(["-c", "test -e works || exit 3; exec \"$0\" \"$@\""]);
    fickle.arg(fake.get_program()).args(fake.get_args());
    let proxy = Proxy::new(&Config::new().server("fickle", &fickle));
    // Not at `info`, where the line that it is up would be there too.
    let mut client = serve(&proxy, &["--log", "warn"]);
    client.initialize("2025-11-25").await.result();
    client.stderr().line("fickle: cannot connect: its process exited (exit status: 3)").await;
    let works = proxy.directory.write("works", "");
    while client.request("tools/list", "{}").await.tool_names() != ["crash"] {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    std::fs::remove_file(works).expect("it is there");
    client.call("crash", "{}").await;
    client.stderr().line("fickle: connection lost").await;
    client.stderr().times("fickle: cannot connect: its process exited (exit status: 3)", 2).await;
    assert!(!client.stderr().text().contains("INFO"), "{}", client.stderr().text());
}

#[tokio::test]
async fn a_log_in_json_is_one_object_per_line_also_for_status_lines() {
    let script = "
def noted(args):
    log('noted', level = 'audit', number = 3, error = 'mine')
publish(metadata('note', '', {}, {}), noted)
for meta, call in backends()['one'].tools():
    publish(meta, call)
";
    let config = Config::new()
        .server("one", &talkative("echo hello >&2"))
        .server("gone", &Command::new("no-such-program"))
        .section("sessionInit: { scriptFile: policy.star }");
    let proxy = Proxy::new(&config).file("policy.star", script);
    let mut client = serve(&proxy, &["--log-format", "json", "--log", "debug"]);
    client.initialize("2025-11-25").await.result();
    client.request("tools/list", "{}").await.result();
    client.call("echo", "{}").await.result();
    client.call("fail", "{}").await;
    client.call("note", "{}").await.result();
    client.stderr().line("1 of 2 servers is up").await;
    let log = whole(client).await;
    let entries: Vec<Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"))).collect();
    let find = |key: &str, value: &str| entries.iter().find(|entry| entry[key] == value).unwrap_or(&Value::Null);
    for entry in &entries {
        assert!(
            entry["time"].as_str().is_some_and(|time| time.ends_with('Z')) && entry["level"].is_string(),
            "{entry}"
        );
    }
    let call = entries.iter().find(|entry| entry["name"] == "echo").expect("the call");
    assert_eq!(
        (&call["method"], &call["server"], &call["outcome"]),
        (&json!("tools/call"), &json!("one"), &json!("ok"))
    );
    assert!(call["ms"].is_u64() && call["level"] == "debug", "{call}");
    let failed = entries.iter().find(|entry| entry["name"] == "fail").expect("the call");
    assert_eq!(failed["outcome"], "error result");
    assert!(find("method", "tools/list")["ms"].is_u64() && find("method", "initialize")["ms"].is_u64());
    assert_eq!(find("message", "hello")["source"], "stderr");
    let audit = find("level", "audit");
    assert_eq!((&audit["message"], &audit["fields"]["number"]), (&json!("noted"), &json!(3)), "{audit}");
    assert_eq!((find("level", "warn"))["server"], "gone");
    assert_eq!(find("message", "1 of 2 servers is up; `gone` failed")["level"], "info", "{log}");
}

#[tokio::test]
async fn a_log_file_grows_and_only_its_owner_reads_it() {
    let proxy = Proxy::new(&Config::new().server("gone", &Command::new("no-such-program")));
    let file = proxy.directory.path().join("proxy.log");
    for run in 1..=2 {
        let mut client = serve(&proxy, &["--log-file", "proxy.log"]);
        client.initialize("2025-11-25").await.result();
        client.stderr().line("the server is not up").await;
        let said = whole(client).await;
        assert!(said.contains("ready: 0 tools of 1 server") && !said.contains("WARN"), "{said}");
        let log = std::fs::read_to_string(&file).expect("it is there");
        assert_eq!(log.matches("WARN  gone: cannot connect").count(), run, "{log}");
        assert_eq!(log.matches("INFO  the server is not up; `gone` failed").count(), run, "{log}");
        assert!(log.lines().all(|line| line.starts_with("20") && line[23..].starts_with("Z ")), "{log}");
    }
    let mode = std::fs::metadata(&file).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn a_log_file_that_cannot_be_written_is_an_error() {
    for (file, said, hint) in [
        (
            "none/proxy.log",
            "cannot write the log to `none/proxy.log`: No such file or directory",
            "create its folder first",
        ),
        (".", "cannot write the log to `.`: Is a directory", "name a file, not a folder"),
    ] {
        let failed = empty().run(["list-presets", "--log-file", file]).await.expect(2);
        assert!(failed.stderr.starts_with(&format!("error: {said}")), "{}", failed.stderr);
        assert!(failed.stderr.contains(&format!("hint: {hint}")) && failed.stdout.is_empty(), "{}", failed.stderr);
    }
    let wrong = empty().run(["list-presets", "--log-format", "xml"]).await.expect(2);
    assert!(wrong.stderr.contains("'xml'") && wrong.stderr.contains("text, json"), "{}", wrong.stderr);
}

#[tokio::test]
async fn a_server_can_have_a_level_of_its_own_also_while_it_runs() {
    let words = |name: &str, tool: &str| talkative_with(tool, &format!("echo {name} speaks >&2"));
    let config = |one: &str| {
        Config::new()
            .server_with("one", &words("one", "echo"), json!({"log": one}))
            .server_with("two", &words("two", "fail"), json!({"log": "off"}))
            .server("three", &words("three", "pid"))
            .text()
    };
    let proxy = Proxy::with_config_text(&config("debug"));
    let mut client = serve(&proxy, &[]);
    client.initialize("2025-11-25").await.result();
    let said = client.stderr().line("one speaks").await;
    assert!(said.contains(" DEBUG one | one speaks"), "{said}");
    client.stderr().line("all 3 servers are up").await;
    client.call("echo", "{}").await.result();
    client.stderr().line(" DEBUG one: tools/call echo: ok in ").await;
    client.call("pid", "{}").await.result();
    proxy.directory.write("proxy.yaml", &config("warn"));
    client.stderr().line("reloaded").await;
    client.call("echo", "{}").await.result();
    let log = whole(client).await;
    assert!(!log.contains("two: ") && !log.contains("two speaks") && !log.contains("three speaks"), "{log}");
    assert!(log.contains("three: up in") && !log.contains("pid: ok"), "{log}");
    assert_eq!(log.matches("echo: ok").count(), 1, "{log}");
    assert!(!log.contains("restarted"), "{log}");
    let wrong = Proxy::with_config_text(&config("loud")).run(["check"]).await.expect(2);
    assert!(wrong.stderr.contains("`mcpServers.one.log`: expected one of `off`, `error`, `warn`"), "{}", wrong.stderr);
}

#[tokio::test]
async fn the_last_lines_of_a_server_are_shown_on_demand() {
    let (_web, url) = fake_http_backend(&["--only", "echo"]).await;
    let lines = "seq 250 | sed 's/^/line /' >&2; printf 'key-of-the-house\\033[2J\\n' >&2";
    let mut loud = talkative(lines);
    loud.env("KEY", "key-of-the-house");
    let config = Config::new().server("loud", &loud).server("mute", &talkative("true")).remote("web", &url);
    let proxy = Proxy::new(&config);
    let mut client = serve(&proxy, &[]);
    client.initialize("2025-11-25").await.result();
    client.stderr().line("all 3 servers are up").await;
    let shown = proxy.run(["logs", "loud"]).await.expect(0);
    let lines: Vec<&str> = shown.stdout.lines().collect();
    assert_eq!(lines.len(), 200, "{}", shown.stdout);
    assert!(lines[0].ends_with("Z line 52") && lines[198].ends_with("Z line 250"), "{}", shown.stdout);
    assert!(lines[199].ends_with("Z •••\\u{1b}[2J"), "{}", lines[199]);
    let json = proxy.run(["logs", "loud", "--json"]).await.expect(0);
    let read: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!((read.as_array().map(Vec::len), &read[0]["text"]), (Some(200), &json!("line 52")));
    // A config that is refused changes nothing.
    proxy.directory.write("proxy.yaml", "sessionInit: { script: \"fail('not this')\" }\n");
    client.stderr().line("proxy.yaml was not reloaded, the old config stays").await;
    let shown = proxy.run(["logs", "loud"]).await.expect(0);
    assert_eq!(shown.stdout.lines().count(), 200, "{}", shown.stdout);
    let mute = proxy.run(["logs", "mute"]).await.expect(0);
    assert_eq!(
        (mute.stdout.as_str(), mute.stderr.as_str()),
        ("", "the server has written nothing to standard error\n")
    );
    for (name, said) in [
        ("lout", "error: there is no server `lout`"),
        ("nothing at all", "its servers are `loud`, `mute`, `web`"),
        ("web", "error: `web` is a remote server: the proxy does not see its standard error"),
    ] {
        let failed = proxy.run(["logs", name]).await.expect(1);
        assert!(failed.stderr.contains(said), "{}", failed.stderr);
    }
    assert!(!whole(client).await.contains("line 250"));
    let failed = proxy.run(["logs", "loud"]).await.expect(1);
    assert!(failed.stderr.contains("no `proxy serve` of this user is running"), "{}", failed.stderr);
}

#[tokio::test]
async fn the_messages_are_in_the_trace_without_their_secrets() {
    let mut fake = fake_backend(["--only", "echo"]);
    fake.env("KEY", "s3cret-in-env");
    let proxy = Proxy::new(&Config::new().server("one", &fake));
    let mut client = serve(&proxy, &["-vv"]);
    client.initialize("2025-11-25").await.result();
    client.call("echo", r#"{"text":"s3cret-in-env","password":"hunter2","plain":"shown"}"#).await.result();
    let log = whole(client).await;
    let lines = |part: &str| log.lines().filter(|line| line.contains(part)).collect::<Vec<_>>();
    for (who, what) in [("TRACE one: received {", "tools/call"), ("TRACE one: sent {", "shown")] {
        assert!(lines(who).iter().any(|line| line.contains(what)), "{log}");
    }
    for (who, what) in [("TRACE client sent {", "initialize"), ("TRACE client received {", "shown")] {
        assert!(lines(who).iter().any(|line| line.contains(what)), "{log}");
    }
    assert!(log.contains(r#""text":"•••","password":"•••","plain":"shown""#), "{log}");
    assert!(!log.contains("s3cret-in-env") && !log.contains("hunter2"), "{log}");
}

#[tokio::test]
async fn quiet_means_results_and_errors_only() {
    let config =
        Config::new().server("one", &fake_backend(["--only", "echo"])).server("gone", &Command::new("nowhere"));
    let proxy = Proxy::new(&config);
    let listed = proxy.run(["list-tools", "-q"]).await.expect(0);
    assert!(listed.stdout.contains("echo") && listed.stderr.is_empty(), "{}", listed.stderr);
    let mut client = serve(&proxy, &["-q"]);
    client.initialize("2025-11-25").await.result();
    client.call("echo", "{}").await.result();
    assert_eq!(whole(client).await, "");
    let both = proxy.run(["list-tools", "-q", "--log", "info"]).await.expect(2);
    assert!(both.stderr.contains("cannot be combined"), "{}", both.stderr);
}
