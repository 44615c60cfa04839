//! Commands answer from the lists that are known, and start only the servers that they need.

use std::process::Command;

use serde_json::json;

use crate::support::config::Config;
use crate::support::finished::Finished;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;
use crate::support::temp_dir::TempDir;
use crate::support::terminal::typed;

/// Servers that leave a line in a file whenever they are started.
pub(super) struct Counted {
    directory: TempDir,
}

impl Counted {
    pub(super) fn new() -> Self {
        Counted { directory: TempDir::new() }
    }

    /// A server that offers the tools in the file `NAME.tools`.
    fn server(&self, name: &str, tools: &str) -> Command {
        let fake = fake_backend([]);
        let (starts, offered) = (self.directory.path().join("starts"), self.offer(name, tools));
        let line = format!(
            "echo {name} >> '{}'; tools=\"$(cat '{}')\" || exit 3; exec \"$0\" --only \"$tools\"",
            starts.display(),
            offered.display()
        );
        let mut command = Command::new("sh");
        command.args(["-c", &line]).arg(fake.get_program());
        command
    }

    fn offer(&self, name: &str, tools: &str) -> std::path::PathBuf {
        self.directory.write(&format!("{name}.tools"), tools)
    }

    /// The names of the servers that were started since the last look.
    pub(super) fn started(&self) -> Vec<String> {
        let file = self.directory.path().join("starts");
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let _ = std::fs::remove_file(file);
        let mut names: Vec<String> = text.lines().map(str::to_owned).collect();
        names.sort();
        names
    }

    pub(super) fn two(&self) -> Proxy {
        Proxy::new(&Config::new().server("one", &self.server("one", "echo")).server("two", &self.server("two", "read")))
    }
}

#[tokio::test]
async fn lists_start_no_server_whose_lists_are_known() {
    let servers = Counted::new();
    let proxy = servers.two();
    assert_eq!(proxy.run(["list-tools"]).await.expect(0).column(), ["echo", "read"]);
    assert_eq!(servers.started(), ["one", "two"], "nothing was known");
    for (command, printed) in
        [("list-tools", "echo"), ("find echo", "echo"), ("types", "echo"), ("list-tools --all", "read")]
    {
        let output = proxy.run(command.split(' ')).await.expect(0);
        assert!(output.stdout.contains(printed), "{command}: {}", output.stdout);
        assert_eq!(output.stderr, "", "{command}: without a terminal it is only the answer");
    }
    proxy.run(["list-resources"]).await.expect(0);
    proxy.run(["list-prompts"]).await.expect(0);
    assert_eq!(servers.started(), [""; 0]);
    proxy.run(["list-tools", "--live"]).await.expect(0);
    assert_eq!(servers.started(), ["one", "two"]);
}

#[tokio::test]
async fn what_a_server_listed_for_another_account_is_not_what_it_lists_now() {
    let servers = Counted::new();
    let server = servers.server("one", "echo");
    let config = Config::new().server_with("one", &server, json!({"env": {"ACCOUNT": "${ACCOUNT}"}}));
    let proxy = Proxy::new(&config);
    for (account, started) in [("ann", 1), ("ann", 0), ("bob", 1), ("bob", 0)] {
        let mut list = proxy.command(["list-tools"]);
        list.env("ACCOUNT", account);
        assert_eq!(Finished::run(list).await.expect(0).column(), ["echo"]);
        assert_eq!(servers.started().len(), started, "{account}");
    }
}

#[tokio::test]
async fn a_call_starts_the_server_that_it_reaches() {
    let servers = Counted::new();
    let proxy = servers.two();
    proxy.run(["list-tools"]).await.expect(0);
    servers.started();
    let called = proxy.run(["call", "read", "a=1", "--json"]).await.expect(0);
    assert_eq!((servers.started(), called.stderr), (vec!["two".to_owned()], String::new()));
    let proxy = proxy.file("work.star", "return echo(a = 7)['a']\n");
    assert_eq!(proxy.run(["exec", "work.star"]).await.expect(0).stdout, "7\n");
    assert_eq!(servers.started(), ["one"]);
    proxy.run(["call", "read", "--live"]).await.expect(0);
    assert_eq!(servers.started(), ["one", "two"]);
}

#[tokio::test]
async fn a_server_that_is_new_in_the_config_is_started_alone() {
    let servers = Counted::new();
    let proxy = servers.two();
    proxy.run(["list-tools"]).await.expect(0);
    servers.started();
    let config = Config::new()
        .server("one", &servers.server("one", "echo"))
        .server("two", &servers.server("two", "read"))
        .server("three", &servers.server("three", "pid"));
    proxy.directory.write("proxy.yaml", &config.text());
    assert_eq!(proxy.run(["list-tools"]).await.expect(0).column(), ["echo", "read", "pid"]);
    assert_eq!(servers.started(), ["three"]);
}

#[tokio::test]
async fn a_tool_that_its_server_no_longer_offers_is_told() {
    let servers = Counted::new();
    let proxy = servers.two();
    proxy.run(["list-tools"]).await.expect(0);
    servers.offer("two", "pid");
    let gone = proxy.run(["call", "read"]).await.expect(1);
    assert!(gone.stderr.starts_with("error: server `two` no longer offers the tool `read`\n"), "{}", gone.stderr);
    assert!(gone.stderr.contains("from lists cached "), "{}", gone.stderr);
    servers.started();
    assert_eq!(proxy.run(["list-tools"]).await.expect(0).column(), ["echo", "pid"], "what it said is known now");
    let unknown = proxy.run(["call", "nothing"]).await.expect(1);
    assert!(unknown.stderr.contains("--live starts the servers"), "{}", unknown.stderr);
    assert_eq!(servers.started(), [""; 0]);
}

#[tokio::test]
async fn a_known_server_that_does_not_start_is_told_with_its_last_words() {
    let servers = Counted::new();
    let proxy = servers.two();
    proxy.run(["list-tools"]).await.expect(0);
    servers.started();
    std::fs::remove_file(servers.directory.path().join("two.tools")).expect("it is there");
    let failed = proxy.run(["call", "read"]).await.expect(1);
    assert!(failed.stderr.starts_with("error: server `two` is not available: "), "{}", failed.stderr);
    assert!(failed.stderr.contains("No such file"), "{}", failed.stderr);
    assert!(servers.started().iter().all(|name| name == "two"));
}

#[tokio::test]
async fn a_script_that_fails_on_known_lists_says_how_old_they_are() {
    let servers = Counted::new();
    let config =
        Config::new().server("one", &servers.server("one", "echo")).section("sessionInit: { scriptFile: p.star }");
    let proxy = Proxy::new(&config).file("p.star", "publish(backends()['one'].tools[0])\n");
    proxy.run(["list-servers"]).await.expect(0);
    let proxy = proxy.file("p.star", "fail('no')\n");
    let failed = proxy.run(["list-tools"]).await.expect(1);
    assert!(failed.stderr.contains("error: no\n --> p.star:1:1"), "{}", failed.stderr);
    assert!(failed.stderr.contains("from lists cached "), "{}", failed.stderr);
}

#[tokio::test]
async fn servers_are_listed_as_they_were_with_their_last_error() {
    let servers = Counted::new();
    let proxy = servers.two();
    proxy.run(["list-servers"]).await.expect(0);
    servers.started();
    let list = proxy.run(["list-servers"]).await.expect(0);
    assert!(list.stdout.contains("one     cached (") && list.stdout.contains(" s ago)"), "{}", list.stdout);
    assert_eq!(servers.started(), [""; 0]);
    // The same command, which fails from now on.
    std::fs::remove_file(servers.directory.path().join("two.tools")).expect("it is there");
    servers.directory.write("two.tools/is", "a folder");
    let failed = proxy.run(["list-servers", "--live", "--json"]).await.expect(0).json();
    assert_eq!((&failed[0]["status"], &failed[0]["lastSeen"]), (&json!("ready"), &json!(null)));
    assert_ne!(failed[1]["error"], json!(""));
    servers.started();
    let list = proxy.run(["list-servers", "--json"]).await.expect(0).json();
    assert_eq!((&list[1]["status"], &list[1]["error"], &list[1]["tools"]), (&json!("cached"), &json!(""), &json!(1)));
    assert_eq!(list[1]["lastError"]["error"], failed[1]["error"]);
    let list = proxy.run(["list-servers"]).await.expect(0).stdout;
    assert!(list.lines().nth(2).is_some_and(|line| line.contains(" s ago: ")), "{list}");
    assert_eq!(servers.started(), [""; 0]);
    // As a health check it fails only with `--live`.
    std::fs::remove_file(servers.directory.path().join("one.tools")).expect("it is there");
    servers.directory.write("one.tools/is", "a folder");
    proxy.run(["list-servers"]).await.expect(0);
    proxy.run(["list-servers", "--live"]).await.expect(1);
}

#[tokio::test]
async fn a_terminal_shows_where_an_answer_came_from() {
    let servers = Counted::new();
    let proxy = servers.two();
    let first = typed(proxy.command(["list-tools"]), "").await.expect(0);
    assert!(!first.stderr.contains("--live"), "{}", first.stderr);
    let second = typed(proxy.command(["list-tools"]), "").await.expect(0);
    assert!(second.stderr.contains("from lists cached ") && second.stderr.contains("--live"), "{}", second.stderr);
    let called = typed(proxy.command(["call", "read"]), "").await.expect(0);
    assert!(called.stderr.contains("from `two`, started for this command"), "{}", called.stderr);
    let json = typed(proxy.command(["list-tools", "--json"]), "").await.expect(0);
    assert!(!json.stderr.contains("from lists"), "{}", json.stderr);
}
