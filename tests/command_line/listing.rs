//! `list-presets`, `show-preset`, `list-servers`, `list-tools`.

use serde_json::json;

use super::{empty, two_servers, world};
use crate::support::config::Config;
use crate::support::finished::Finished;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;
use crate::support::terminal::{on_a_terminal, typed};

#[tokio::test]
async fn presets_are_listed_and_shown() {
    let list = empty().run(["list-presets"]).await.expect(0);
    assert_eq!(
        list.stdout,
        "\
PRESET         DESCRIPTION
approval@1     all tools; tools without `readOnlyHint` ask the user for approval
code-mode@1    `execute_tool_script`, which runs scripts that call tools, instead of all tools
default@1      everything, as configured in `aggregation`, `optimizer` and `codeMode`
optimizer@1    `find_tool`, `describe_tool` and `call_tool` instead of all tools
passthrough@1  everything, unchanged; two tools with the same name are an error
read-only@1    only tools with `readOnlyHint`
lib@1          the presets' functions for your own scripts: `load(\"@proxy//lib@1.star\", ...)`
"
    );
    let list = empty().run(["list-presets", "--json"]).await.expect(0).json();
    assert_eq!((&list[2]["name"], &list[2]["version"]), (&json!("default"), &json!(1)));
    let shown = empty().run(["show-preset", "default"]).await.expect(0);
    assert_eq!(shown.stdout, include_str!("../../presets/default@1.star"));
    for name in ["lib@1", "lib", "@proxy//lib@1.star"] {
        let library = empty().run(["show-preset", name]).await.expect(0);
        assert_eq!(library.stdout, include_str!("../../presets/lib@1.star"));
    }
    let unknown = empty().run(["show-preset", "defalt"]).await.expect(2);
    assert_eq!(unknown.stderr, "error: unknown preset `defalt`\n |\n = hint: did you mean `default`?\n");
}

#[tokio::test]
async fn a_shown_preset_runs_as_a_script() {
    let proxy = world();
    let shown = proxy.run(["show-preset", "default"]).await.expect(0);
    let proxy = proxy.file("mine.star", &shown.stdout);
    let forked = proxy.run(["list-tools", "--script", "mine.star"]).await.expect(0);
    assert_eq!(forked.stdout, proxy.run(["list-tools"]).await.expect(0).stdout);
}

#[tokio::test]
async fn servers_are_listed_with_their_state_also_those_that_are_not_there() {
    let config = two_servers().server("gone", &std::process::Command::new("no-such-program"));
    let proxy = Proxy::new(&config);
    let list = proxy.run(["list-servers"]).await.expect(0);
    let lines: Vec<&str> = list.stdout.lines().collect();
    let header: Vec<&str> = lines[0].split_whitespace().collect();
    assert_eq!(
        header,
        ["SERVER", "STATUS", "KIND", "VERSION", "PROTOCOL", "TOOLS", "RESOURCES", "PROMPTS", "START", "ERROR"]
    );
    assert!(
        lines[1].starts_with("one") && lines[1].contains("ready") && lines[1].contains("2025-11-25"),
        "{}",
        lines[1]
    );
    assert!(lines[3].starts_with("gone") && lines[3].contains("failed"), "{}", lines[3]);
    assert!(lines[3].contains("the command `no-such-program` was not found in `PATH`"), "{}", lines[3]);
    let list = proxy.run(["list-servers", "--live", "--json"]).await.expect(0).json();
    assert_eq!((&list[0]["name"], &list[0]["tools"], &list[0]["status"]), (&json!("one"), &json!(5), &json!("ready")));
    assert_eq!((&list[2]["status"], &list[2]["kind"]), (&json!("failed"), &json!("stdio")));
}

#[tokio::test]
async fn servers_are_listed_even_if_the_script_fails() {
    let config = two_servers().section("sessionInit: { scriptFile: policy.star }");
    let proxy = Proxy::new(&config).file("policy.star", "fail('no')\n");
    assert_eq!(proxy.run(["list-servers"]).await.expect(0).column(), ["one", "two"]);
    let tools = proxy.run(["list-tools"]).await.expect(1);
    assert!(tools.stderr.contains("error: no\n --> policy.star:1:1"), "{}", tools.stderr);
}

#[tokio::test]
async fn tools_are_those_a_client_would_see() {
    let proxy = world();
    let list = proxy.run(["list-tools"]).await.expect(0);
    assert_eq!(list.column(), ["echo", "search", "fail", "rpc_error", "slow", "two_search", "read"]);
    assert!(
        list.stdout.starts_with("TOOL        SERVER  DESCRIPTION\necho        one     Returns its arguments.\n"),
        "{}",
        list.stdout
    );
    assert_eq!(proxy.run(["list-tools", "two"]).await.expect(0).column(), ["two_search", "read"]);
    assert_eq!(proxy.run(["list-tools", "--all", "two"]).await.expect(0).column(), ["search", "read"]);
    let json = proxy.run(["list-tools", "two", "--json"]).await.expect(0).json();
    assert_eq!(
        json[0],
        json!({"server": "two", "tool": {
            "name": "two_search", "description": "Returns its arguments.",
            "inputSchema": {"type": "object", "properties": {}},
        }})
    );
    let unknown = proxy.run(["list-tools", "tow"]).await.expect(1);
    assert_eq!(unknown.stderr, "error: unknown server `tow`\n |\n = hint: did you mean `two`?\n");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_and_the_others_are_listed() {
    let config = Config::new()
        .server("gone", &std::process::Command::new("no-such-program"))
        .server("one", &fake_backend(["--only", "echo"]));
    let list = Proxy::new(&config).run(["list-tools"]).await.expect(0);
    assert_eq!(list.column(), ["echo"]);
    let expected = "warning: server `gone` is not available: the command `no-such-program` was not found";
    assert!(list.stderr.contains(expected), "{}", list.stderr);
}

#[tokio::test]
async fn servers_and_extensions_can_be_named_on_the_command_line() {
    let proxy = empty().file(
        "tools/ping.star",
        "def describe_extension():\n    return Extension(name = 'ping', version = '1', tools = [Tool(name = 'ping', description = 'Says pong', handler = lambda params: 'pong')])\n",
    );
    let program = fake_backend([]);
    let server = format!("fake={} --only echo", program.get_program().to_string_lossy());
    let list = proxy.run(["list-tools", "--server", &server, "--extension", "tools"]).await.expect(0);
    assert_eq!(list.column(), ["echo", "ping"]);
    let wrong = proxy.run(["list-tools", "--server", "uvx"]).await.expect(2);
    assert!(wrong.stderr.contains("error: `--server`: expected NAME=COMMAND or NAME=URL"), "{}", wrong.stderr);
    let wrong = proxy.run(["list-tools", "--extension", "tool"]).await.expect(2);
    assert!(wrong.stderr.contains("error: there is no extension at "), "{}", wrong.stderr);
}

#[tokio::test]
async fn without_a_config_the_bundled_extensions_are_there() {
    let list = empty().run(["list-tools"]).await.expect(0);
    assert!(list.column().contains(&"greet"), "{}", list.stdout);
    let missing = empty().run(["list-tools", "--config", "other.yaml"]).await.expect(2);
    assert_eq!(
        missing.stderr,
        "error: config file `other.yaml` not found\n |\n = hint: create one with `proxy init`\n"
    );
}

#[tokio::test]
async fn lists_fail_when_no_server_is_there() {
    let proxy = Proxy::new(&Config::new().server("gone", &std::process::Command::new("no-such-program")));
    let servers = proxy.run(["list-servers"]).await.expect(1);
    assert_eq!(servers.column(), ["gone"]);
    assert_eq!(proxy.run(["list-tools", "--json"]).await.expect(1).json(), json!([]));
}

#[tokio::test]
async fn an_empty_list_says_why_on_a_terminal() {
    let nothing = Proxy::with_config_text("mcpServers: {}");
    let seen = typed(nothing.command(["list-tools"]), "").await.expect(0);
    assert!(seen.stderr.contains("the config has no servers"), "{}", seen.stderr);
    let hidden = Proxy::new(&Config::new().server("fake", &fake_backend(["--only", "echo"])));
    let seen = typed(hidden.command(["list-prompts"]), "").await.expect(0);
    assert!(seen.stderr.contains("none is published; `--all` lists"), "{}", seen.stderr);
}

#[tokio::test]
async fn a_list_without_a_config_says_that_it_is_not_of_this_folder() {
    let proxy = empty();
    proxy.run(["new", "tool", "shorten"]).await.expect(0);
    let seen = typed(proxy.command(["list-tools"]), "").await.expect(0);
    assert!(seen.stderr.contains("no config file found: using the built-in extensions"), "{}", seen.stderr);
    let own = typed(proxy.command(["list-tools", "--extension", "extensions"]), "").await.expect(0);
    assert!(!own.stderr.contains("no config file"), "{}", own.stderr);
    assert_eq!(proxy.run(["list-tools"]).await.expect(0).stderr, "");
}

#[tokio::test]
async fn nothing_cannot_be_found() {
    let proxy = empty();
    let wrong = proxy.run(["find", ""]).await.expect(2);
    assert_eq!(wrong.stderr, "error: QUERY is empty: describe what the tool should do\n");
    let wrong = proxy.run(["find", "greet", "--limit", "0"]).await.expect(2);
    assert_eq!(wrong.stderr, "error: --limit must be 1 or more\n");
}

#[tokio::test]
async fn a_command_with_its_arguments_in_one_word_gets_a_hint() {
    let proxy = Proxy::with_config_text("mcpServers:\n  a: { command: \"no-such-program --flag x\" }\n");
    let checked = proxy.run(["check"]).await.expect(0);
    assert!(
        checked.stderr.contains("hint: move the arguments to `args`: `command: no-such-program`, `args: [--flag, x]`"),
        "{}",
        checked.stderr
    );
}

#[tokio::test]
async fn two_servers_with_one_method_are_told_with_the_rest() {
    let proxy = Proxy::with_config_text(
        "mcpServers:\n  a: { command: x, methods: [v/one] }\n  b: { command: x, methods: [v/one] }\nserv: {}\n",
    );
    let checked = proxy.run(["check"]).await.expect(2);
    assert!(checked.stderr.contains("method `v/one` is assigned to two servers: `b` and `a`"), "{}", checked.stderr);
    assert!(checked.stderr.contains("unknown key `serv`"), "{}", checked.stderr);
}

#[tokio::test]
async fn a_table_is_as_wide_as_the_terminal_and_whole_in_a_pipe() {
    let long = "Says a word that is so long, and so often, that no screen has a line for it all, nor two, whatever people may do";
    let script = format!("publish(metadata('say', '{long}', {{'type': 'object'}}, {{}}), lambda args: 'said')\n");
    let proxy = Proxy::with_config_text("sessionInit: { scriptFile: policy.star }\n").file("policy.star", &script);
    let piped = proxy.run(["list-tools"]).await.expect(0);
    assert!(piped.stdout.contains(&format!("{long}\n")), "{}", piped.stdout);
    let Some(terminal) = on_a_terminal(&proxy.command(["list-tools"]), 50) else { return };
    let seen = Finished::run(terminal).await.expect(0).stdout;
    let line = seen.lines().find(|line| line.contains("Says a word")).expect("the tool is listed").trim_end();
    let shown = &line[line.find("say ").expect("its name")..];
    assert!(shown.ends_with('…') && (45..=50).contains(&shown.chars().count()), "{shown:?}");
}

#[tokio::test]
async fn a_quick_run_publishes_only_the_tools_that_are_asked_for() {
    let proxy = world();
    let list = proxy.run(["list-tools", "--tools", "echo,two_*"]).await.expect(0);
    assert_eq!(list.column(), ["echo", "two_search"], "{}", list.stdout);
    let hidden = proxy.run(["call", "fail", "--tools", "echo"]).await.expect(1).stderr;
    assert!(hidden.contains("unknown tool `fail`"), "{hidden}");
    let wrong = proxy.run(["list-tools", "--tools", "ecko"]).await.expect(0);
    assert!(wrong.stderr.contains("warning: `--tools`: no tool `ecko` is published"), "{}", wrong.stderr);
    let odd = proxy.run(["list-tools", "--tools", "a,[b"]).await.expect(2);
    assert!(odd.stderr.contains("`--tools`: `[b` is neither a name nor a glob"), "{}", odd.stderr);
}
