//! What commands say is true: about policies, running servers, full disks, missing variables and dead servers.

use std::fs::OpenOptions;
use std::process::Stdio;

use serde_json::json;
use tokio::io::AsyncWriteExt;

use super::last_known::Counted;
use super::running::serving;
use super::{empty, world};
use crate::support::config::Config;
use crate::support::program::Program;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

/// A policy that forbids one tool to everybody.
const CEDAR: &str = "cedar: { policies: [a.cedar] }";
const POLICY: &str = "permit(principal, action, resource);\nforbid(principal, action, resource == Tool::\"slow\");\n";

fn guarded() -> Proxy {
    let config = Config::new().server("fake", &fake_backend(["--only", "echo,slow"])).section(CEDAR);
    Proxy::new(&config).file("a.cedar", POLICY)
}

#[tokio::test]
async fn explain_and_check_apply_policies_to_the_local_user() {
    let world = guarded();
    world.run(["list-tools"]).await.expect(0);
    let explained = world.run(["explain", "slow"]).await.expect(0).stdout;
    assert!(explained.contains("forbidden by a.cedar:2"), "{explained}");
    let checked = world.run(["check"]).await.expect(0).stdout;
    assert!(checked.contains("1 tool published"), "{checked}");
}

#[tokio::test]
async fn explain_and_check_ask_the_running_proxy_about_its_servers() {
    let config = Config::new()
        .server("good", &fake_backend(["--only", "echo"]))
        .section("# the other one\n")
        .remote("bad", "http://127.0.0.1:9/mcp");
    let proxy = serving(Proxy::new(&config)).await;
    let unknown = proxy.world.run(["explain", "nothing"]).await.expect(1).stderr;
    assert!(unknown.contains("server `bad` is not available"), "{unknown}");
    let checked = proxy.world.run(["check"]).await.stdout;
    assert!(checked.contains("failed: ") && !checked.contains("never seen"), "{checked}");
    assert!(checked.contains("1 tool") && !checked.contains("as last seen"), "{checked}");
}

#[tokio::test]
async fn suggested_commands_are_about_the_same_user() {
    let world = world();
    let unknown = world.run(["call", "nothing-like-it", "--as-user", "ann"]).await.expect(1).stderr;
    assert!(unknown.contains("`proxy explain nothing-like-it --as-user ann`"), "{unknown}");
    assert!(unknown.contains("`proxy list-tools --as-user ann`"), "{unknown}");
    let unknown = world.run(["explain", "nothing-like-it", "--as-user", "it's me"]).await.expect(1).stderr;
    assert!(unknown.contains(r"`proxy explain --as-user 'it'\''s me'` without a name"), "{unknown}");
}

#[tokio::test]
async fn a_result_that_cannot_be_written_is_a_failure_and_a_closed_pipe_is_not() {
    let world = world().file("t_test.star", "def test_nothing():\n    pass\n");
    world.run(["list-tools"]).await.expect(0);
    for command in [
        "list-tools",
        "list-tools --json",
        "check",
        "explain",
        "types",
        "list-presets",
        "find echo",
        "test t_test.star",
    ] {
        let full = OpenOptions::new().write(true).open("/dev/full").expect("a full disk");
        let mut command = world.command(command.split(' '));
        let output = command.stdin(Stdio::null()).stdout(full).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{command:?}: {said}");
        assert!(said.contains("cannot write to standard output: No space left on device"), "{command:?}: {said}");
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let closed = command.stdout(writer).output().expect("it runs");
        assert_eq!(closed.status.code(), Some(0), "{command:?}: {}", String::from_utf8_lossy(&closed.stderr));
    }
}

#[tokio::test]
async fn an_unset_variable_fails_the_server_that_needs_it_and_no_other() {
    let keys = json!({"env": {"KEY": "${NOT_SET_ANYWHERE}"}});
    let config = |keys| {
        Config::new().server("good", &fake_backend(["--only", "echo"])).server_with(
            "needy",
            &fake_backend(["--only", "read"]),
            keys,
        )
    };
    let world = Proxy::new(&config(keys.clone()));
    let listed = world.run(["list-tools"]).await.expect(0);
    assert_eq!(listed.column(), ["echo"]);
    let problem = "the environment variable `NOT_SET_ANYWHERE` is not set";
    assert!(
        listed.stderr.contains("server `needy` is not available") && listed.stderr.contains(problem),
        "{}",
        listed.stderr
    );
    let checked = world.run(["check"]).await.expect(2).stderr;
    assert!(checked.contains(problem) && checked.contains("proxy.yaml:1"), "{checked}");
    let required = json!({"required": true, "env": {"KEY": "${NOT_SET_ANYWHERE}"}});
    Proxy::new(&config(required)).run(["list-tools"]).await.expect(2);
    let set = world.environment("NOT_SET_ANYWHERE", "x");
    assert_eq!(set.run(["list-tools"]).await.expect(0).column(), ["echo", "read"]);
}

#[tokio::test]
async fn last_words_are_in_the_status_and_printed_once_until_they_change() {
    let words = "for line in alpha beta gamma; do echo \"word $line\" >&2; done; exit 3";
    let text = |words: &str| {
        let words = json!(words);
        format!("mcpServers: {{ dead: {{ command: sh, args: [-c, {words}] }} }}\nextensions: {{ paths: [x.star] }}\n")
    };
    let extension = "def f(args):\n    return \"\"\nextension = Extension(name = \"x\", version = \"1\", tools = [Tool(name = \"f\", description = \"\", handler = f)])\n";
    let world = Proxy::with_config_text(&text(words)).file("x.star", extension);
    let first = world.run(["list-tools", "--live"]).await.stderr;
    assert!(first.contains("word alpha") && first.contains("word gamma"), "{first}");
    let second = world.run(["list-tools", "--live"]).await.stderr;
    assert!(second.contains("server `dead` is not available") && !second.contains("word alpha"), "{second}");
    world.directory.write("proxy.yaml", &text(&words.replace("alpha", "delta")));
    let changed = world.run(["list-tools", "--live"]).await.stderr;
    assert!(changed.contains("word delta"), "{changed}");
    let mut proxy = world.stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy.tools().await;
    let status = proxy.world.run(["status"]).await.expect(0).stdout;
    assert!(status.contains("word delta") && status.contains("word gamma"), "{status}");
}

#[tokio::test]
async fn a_url_where_nothing_is_gets_a_word_about_the_path() {
    let (listener, url) = crate::support::listener::bind().await;
    crate::support::listener::serve(listener, |_| async { Some(crate::support::listener::text(404, "no")) });
    for (path, is_hinted) in [("", true), ("/api", true), ("/mcp", false)] {
        let config = Config::new().remote("web", &format!("{url}{path}"));
        let listed = Proxy::new(&config).run(["list-tools"]).await.stderr;
        assert!(listed.contains("404"), "{listed}");
        assert_eq!(listed.contains("most servers listen on `/mcp`"), is_hinted, "{path}: {listed}");
    }
}

#[tokio::test]
async fn the_prompt_uses_the_servers_of_the_running_proxy() {
    let servers = Counted::new();
    let proxy = serving(servers.two()).await;
    servers.started();
    let lines = "unwrap(backends()['one'].tools()[0][1]({'a': 7}))['a']\nbackends()['one'].tools()[0][0].name\n";
    let (mut program, mut stdin, mut stdout) = Program::start(proxy.world.command(["repl"]));
    stdin.write_all(lines.as_bytes()).await.expect("the prompt reads");
    drop(stdin);
    let mut printed = String::new();
    tokio::io::AsyncReadExt::read_to_string(&mut stdout, &mut printed).await.expect("it prints");
    assert_eq!(program.exit().await.code(), Some(0), "{printed}{}", program.stderr.text());
    assert_eq!(printed, "7\n\"echo\"\n");
    assert_eq!(servers.started(), [""; 0], "no server was started for it");
}

#[tokio::test]
async fn several_clients_are_imported_at_once() {
    let world = empty();
    let server = |command: &str| json!({"mcpServers": {"files": {"command": command}, "same": {"command": "same"}}});
    for (file, command) in [(".cursor/mcp.json", "a"), (".mcp.json", "b"), (".gemini/settings.json", "a")] {
        let path = world.directory.path().join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("it is the test's");
        world.directory.write(file, &server(command).to_string());
    }
    world.run(["init", "--from", "cursor", "claude-code", "--output", "two.yaml", "--yes"]).await.expect(0);
    let names = async |file: &str| {
        let servers = world.run(["list-servers", "-c", file, "--json"]).await.json();
        let servers = servers.as_array().expect("a list").clone();
        servers.iter().map(|server| server["name"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("two.yaml").await, ["files", "same", "files_claude-code"]);
    world.run(["init", "--from", "all", "--output", "all.yaml", "--yes"]).await.expect(0);
    let mut all = names("all.yaml").await;
    all.sort();
    assert_eq!(all.len(), 3, "{all:?}");
}
