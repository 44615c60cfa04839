use serde_json::json;

use super::{empty, two_servers, world};
use crate::support::config::Config;
use crate::support::finished::Finished;
use crate::support::program::Program;
use crate::support::programs::{self, fake_backend};
use crate::support::proxy::Proxy;

#[tokio::test]
async fn a_good_config_is_checked_without_starting_a_server_and_with_it() {
    let proxy = world();
    let checked = proxy.run(["check"]).await.expect(0);
    assert!(checked.stdout.contains("one     never seen: `proxy check --live` starts it"), "{}", checked.stdout);
    assert!(checked.stdout.ends_with("\n0 tools published, 0 errors, 0 warnings\n"), "{}", checked.stdout);
    let live = proxy.run(["check", "--live"]).await.expect(0);
    assert!(live.stdout.contains("one     5 tools"), "{}", live.stdout);
    assert!(live.stdout.ends_with("\n7 tools published, 0 errors, 0 warnings\n"), "{}", live.stdout);
    // What was seen once is remembered.
    let again = proxy.run(["check", "proxy.yaml"]).await.expect(0);
    assert!(again.stdout.contains("one     5 tools as last seen"), "{}", again.stdout);
    let json = proxy.run(["check", "--json"]).await.expect(0).json();
    assert_eq!(json["problems"], json!([]));
    assert_eq!(json["servers"][1], json!({"name": "two", "state": "2 tools as last seen"}));
    assert_eq!(json["tools"][5], json!({"name": "two_search", "server": "two"}));
}

#[tokio::test]
async fn warnings_about_the_config_and_missing_programs_count() {
    let proxy = Proxy::with_config_text(
        "mcpServers:\n  a: {command: no-such-program}\n  b: {command: \"no-such-program -y\"}\n",
    );
    let checked = proxy.run(["check"]).await.expect(0);
    assert!(checked.stdout.ends_with("\n0 tools published, 0 errors, 2 warnings\n"), "{}", checked.stdout);
    assert!(
        checked.stderr.contains("`mcpServers.a.command`: there is no program `no-such-program`"),
        "{}",
        checked.stderr
    );
    assert_eq!(checked.stderr.matches("`mcpServers.b.command`").count(), 1, "{}", checked.stderr);
    let json = proxy.run(["check", "--json"]).await.expect(0).json();
    assert_eq!(json["problems"].as_array().map(Vec::len), Some(2), "{json}");
    proxy.run(["check", "--strict"]).await.expect(1);
}

#[tokio::test]
async fn all_errors_of_a_config_are_told_at_once() {
    let proxy = Proxy::with_config_text(
        "mcpServers:\n  github:\n    comand: npx\n    url: https://h/mcp\nserve:\n  maxSessions: many\n",
    );
    let checked = proxy.run(["check"]).await.expect(2);
    assert_eq!(
        checked.stderr,
        "\
error: unknown key `mcpServers.github.comand`
 --> proxy.yaml:3:5
  |
3 |     comand: npx
  |     ^^^^^^
  |
  = hint: did you mean `command`?

error: `serve.maxSessions`: expected an integer, found `many`
 --> proxy.yaml:6:16
  |
6 |   maxSessions: many
  |                ^^^^
"
    );
    let json = proxy.run(["check", "--json"]).await.expect(2).json();
    assert_eq!(
        json["problems"],
        json!([
            {
                "severity": "error", "rule": null, "message": "unknown key `mcpServers.github.comand`",
                "file": "proxy.yaml", "line": 3, "column": 5, "hint": "did you mean `command`?",
            },
            {
                "severity": "error", "rule": null, "message": "`serve.maxSessions`: expected an integer, found `many`",
                "file": "proxy.yaml", "line": 6, "column": 16, "hint": null,
            },
        ])
    );
}

#[tokio::test]
async fn a_variable_that_is_not_set_is_named_with_its_key_and_line() {
    let text = "mcpServers:\n  github:\n    command: npx\n    env:\n      TOKEN: ${NO_SUCH_TOKEN}\n      HOST: ${NO_SUCH_HOST:-localhost}\n";
    let proxy = Proxy::with_config_text(text);
    for command in ["check", "check --json"] {
        let told = proxy.run(command.split(' ')).await.expect(2);
        let told = if command == "check" { told.stderr } else { continue };
        let expected = "error: `mcpServers.github.env.TOKEN`: the environment variable `NO_SUCH_TOKEN` is not set\n --> proxy.yaml:5:14";
        assert!(told.starts_with(expected) && !told.contains("NO_SUCH_HOST"), "{command}: {told}");
    }
}

#[tokio::test]
async fn a_bad_script_is_exit_1_with_its_line() {
    let config = two_servers().section("sessionInit: { scriptFile: policy.star }");
    let proxy = Proxy::new(&config).file("policy.star", "for name in backends():\n    publish(nmae, print)\n");
    let checked = proxy.run(["check"]).await.expect(1);
    assert!(checked.stderr.contains("error[using-undefined]: undefined name `nmae`\n"), "{}", checked.stderr);
    assert!(checked.stderr.contains("--> policy.star:2:13"), "{}", checked.stderr);
    assert!(checked.stdout.ends_with("0 tools published, 1 error, 0 warnings\n"), "{}", checked.stdout);
    let json = proxy.run(["check", "--json"]).await.expect(1).json();
    let problem = &json["problems"][0];
    assert_eq!(
        (&problem["file"], &problem["line"], &problem["column"]),
        (&json!("policy.star"), &json!(2), &json!(13))
    );
}

#[tokio::test]
async fn files_can_be_checked_one_by_one() {
    let proxy = empty()
        .file("good.star", "publish(metadata('a', '', {}, {}), lambda args: None)\n")
        .file("bad.star", "publish(1, 2)\n")
        .file("tool.star", "def describe_extension():\n    return Extension(name = 'x', version = '1', tools = [Tool(name = 'a b', description = '', handler = print)])\n")
        .file("good.yaml", "serve: { path: /x }\n")
        .file("bad.yaml", "serv: {}\n");
    let good = proxy.run(["check", "good.star"]).await.expect(0);
    assert!(good.stdout.ends_with("1 tool published, 0 errors, 0 warnings\n"), "{}", good.stdout);
    proxy.run(["check", "good.yaml"]).await.expect(0);
    let bad = proxy.run(["check", "bad.star"]).await.expect(1);
    assert!(bad.stderr.contains("the first argument of publish() must be metadata, not a `int`"), "{}", bad.stderr);
    let bad = proxy.run(["check", "tool.star"]).await.expect(1);
    assert!(bad.stderr.contains("the tool name \"a b\" is not allowed"), "{}", bad.stderr);
    // One bad file does not hide the next.
    let both = proxy.run(["check", "bad.yaml", "bad.star"]).await.expect(2);
    assert!(both.stderr.contains("unknown key `serv`") && both.stderr.contains("publish()"), "{}", both.stderr);
    let none = proxy.run(["check", "none.star"]).await.expect(2);
    assert!(none.stderr.starts_with("error: cannot read `none.star`: "), "{}", none.stderr);
}

/// A server with tools, a prompt and resources, seen once.
async fn seen(script: &str) -> Proxy {
    let config = Config::new()
        .server("one", &fake_backend(["--only", "echo,search", "--prompts"]))
        .section("sessionInit: { scriptFile: policy.star }");
    let proxy = Proxy::new(&config).file("policy.star", script);
    proxy.run(["list-servers"]).await.expect(0);
    proxy
}

#[tokio::test]
async fn what_looks_wrong_is_told_for_the_script_and_what_it_loads() {
    let proxy = seen("load(\"//lib.star\", \"used\", \"spare\")\nfor b in backends().values():\n    for meta, call in b.tools():\n        publish(meta, used(call))\npassthrough()\n")
        .await
        .file("lib.star", "def used(call):\n    forgotten = 1\n    return call\n    print(\"never\")\n\nspare = 1\n");
    let checked = proxy.run(["check"]).await.expect(0);
    assert_eq!(
        checked.stderr,
        "\
warning[unused-assign]: `forgotten` is assigned but never used
 --> lib.star:2:5
  |
2 |     forgotten = 1
  |     ^^^^^^^^^
  |
  = hint: remove it, or rename it to `_forgotten` if this is intended

warning[unreachable]: unreachable code
 --> lib.star:4:5
  |
4 |     print(\"never\")
  |     ^^^^^^^^^^^^^^
  |
  = hint: the code before it always returns, breaks, continues or fails

warning[unused-load]: `spare` is loaded but never used
 --> policy.star:1:28
  |
1 | load(\"//lib.star\", \"used\", \"spare\")
  |                            ^^^^^^^
  |
  = hint: remove it from the `load()`
"
    );
    assert!(checked.stdout.ends_with("published, 0 errors, 3 warnings\n"), "{}", checked.stdout);
    let strict = proxy.run(["check", "--strict"]).await.expect(1);
    assert!(strict.stdout.ends_with("published, 0 errors, 3 warnings\n"), "{}", strict.stdout);
    let json = proxy.run(["check", "--json"]).await.expect(0).json();
    assert_eq!((&json["problems"][2]["rule"], &json["problems"][2]["line"]), (&json!("unused-load"), &json!(1)));
}

#[tokio::test]
async fn every_undefined_name_is_told_not_only_the_first() {
    let proxy = seen("def f():\n    return nothing\n\npublish_tool(f)\n").await;
    let checked = proxy.run(["check"]).await.expect(1);
    assert!(checked.stderr.contains("error[using-undefined]: undefined name `nothing`"), "{}", checked.stderr);
    assert!(checked.stderr.contains("error[using-undefined]: undefined name `publish_tool`"), "{}", checked.stderr);
    assert!(checked.stdout.ends_with("0 tools published, 2 errors, 0 warnings\n"), "{}", checked.stdout);
}

#[tokio::test]
async fn what_nobody_would_see_is_told() {
    let proxy = seen("log(\"nothing yet\")\n").await;
    let checked = proxy.run(["check"]).await.expect(0);
    assert!(checked.stderr.contains("note: nothing yet\n"), "{}", checked.stderr);
    assert!(
        checked.stderr.contains("warning[nothing-published]: 0 of the 2 tools of `one` are published"),
        "{}",
        checked.stderr
    );
    assert!(
        checked.stderr.contains("warning[unpublished-kind]: 1 prompt of `one` is neither published nor passed through"),
        "{}",
        checked.stderr
    );
    let served = proxy.serve_command();
    let (program, _stdin, _stdout) = Program::start(served);
    program.stderr.line("warning[nothing-published]: 0 of the 2 tools of `one` are published").await;
}

#[tokio::test]
async fn the_difference_to_what_is_served_is_shown() {
    const ALL: &str =
        "for b in backends().values():\n    for meta, call in b.tools():\n        publish(meta, call)\npassthrough()\n";
    let proxy = seen(ALL).await;
    let before = proxy.run(["check", "--json"]).await.expect(0).json();
    assert_eq!(before["changes"], json!(null));
    let mut served = proxy.stdio();
    served.client.initialize("2025-11-25").await;
    served.client.request("tools/list", "{}").await;
    served.client.close_stdin();
    assert!(served.client.finish().await.success());
    let proxy = served.world;
    let same = proxy.run(["check"]).await.expect(0);
    assert!(same.stdout.contains("no changes compared to the last run of `proxy serve`"), "{}", same.stdout);
    let proxy = proxy.file(
        "policy.star",
        "for meta, call in backends()[\"one\"].tools():\n    if meta.name == \"echo\":\n        publish(meta.replace(description = \"other\"), call)\npublish(metadata(\"mine\", \"\", {}, {}), lambda args: None)\npassthrough()\n",
    );
    let changed = proxy.run(["check"]).await.expect(0);
    assert!(
        changed.stdout.contains(
            "\nchanges compared to the last run of `proxy serve`:\n  + tool mine\n  - tool search\n  ~ tool echo (description)\n"
        ),
        "{}",
        changed.stdout
    );
    let json = proxy.run(["check", "--json"]).await.expect(0).json();
    assert_eq!(
        json["changes"],
        json!({
            "added": [{"kind": "tool", "name": "mine"}],
            "removed": [{"kind": "tool", "name": "search"}],
            "changed": [{"kind": "tool", "name": "echo", "members": ["description"]}],
        })
    );
}

#[tokio::test]
async fn extensions_their_tests_and_libraries_are_read_too() {
    let proxy = empty()
        .file("tools/a.star", "def describe_extension():\n    return Extension(name = 'a', version = '1', tools = [])\n\ndef f():\n    return backends()\n")
        .file("tools/a_test.star", "def test_it():\n    testing.eq(1, 1)\n    x = 1\n")
        .file("lib.star", "def f(args):\n    return publish(args)\n    return 1\n")
        .file("proxy.yaml", "extensions: { paths: [tools] }\n");
    let checked = proxy.run(["check"]).await.expect(1);
    assert!(checked.stderr.contains("undefined name `backends`"), "{}", checked.stderr);
    assert!(checked.stderr.contains("hint: `backends` is available in session scripts only"), "{}", checked.stderr);
    assert!(checked.stderr.contains("a_test.star:3:5"), "{}", checked.stderr);
    let test = proxy.run(["check", "tools/a_test.star"]).await.expect(0);
    assert!(test.stderr.starts_with("warning[unused-assign]: `x` is assigned but never used"), "{}", test.stderr);
    let library = proxy.run(["check", "lib.star"]).await.expect(0);
    assert!(library.stderr.contains("warning[type]: Missing required parameter `handler`"), "{}", library.stderr);
    assert!(library.stderr.contains("warning[unreachable]"), "{}", library.stderr);
}

#[tokio::test]
async fn an_optimizer_that_hides_nothing_says_why() {
    let config = Config::new()
        .server("one", &fake_backend(["--only", "echo,search"]))
        .section("optimizer: { enabled: true, listBelow: 5 }");
    let checked = Proxy::new(&config).run(["check", "--live"]).await.expect(0);
    assert!(
        checked.stderr.starts_with("note: `optimizer` hides nothing: there are 2 tools, and `listBelow` is 5\n"),
        "{}",
        checked.stderr
    );
}

#[tokio::test]
async fn a_mistake_is_told_with_its_place_and_its_cure() {
    let config = Config::new()
        .server("one", &fake_backend(["--only", "echo"]))
        .section("sessionInit: { scriptFile: policy.star }");
    let mut proxy = Proxy::new(&config);
    for (script, place, message, hint) in [
        ("publsh(1, 2)", "1:1", "undefined name `publsh`", "did you mean `publish`?"),
        (
            "x = 1\npublish(metadata('x', '', {}, {}, titel = 'T'), None)",
            "2:9",
            "extra named parameter",
            "did you mean `title`? the signature is `metadata(name, description,",
        ),
        (
            "publish(metadata('x', '', {}, {}))",
            "1:1",
            "Missing parameter `handler`",
            "the signature is `publish(meta, handler, over = ..., name_argument = ...)`",
        ),
        (
            "for meta, call in aggregate(backends()):\n    publish(meta, call)",
            "1:19",
            "undefined name `aggregate`",
            "`load(\"@proxy//lib@1.star\", \"aggregate\")`",
        ),
        (
            "load('lib.star', 'wrap')\nwrap()",
            "1:6",
            "cannot load `lib.star`: there is no such file",
            "`x.star` to this file's folder",
        ),
        ("print(backends()['ome'])", "1:7", "Key `\"ome\"` was not found", "did you mean `one`?"),
        ("print(backends()['a quite other one'])", "1:7", "was not found", "the servers are `one`"),
        ("print('a' + len('b'))", "1:7", "Operation `+` not supported", "`str(x)` converts a value to text"),
        ("print(config().get('nothing').get('x'))", "1:7", "has no attribute `get`", "it is None here"),
    ] {
        proxy = proxy.file("policy.star", &format!("{script}\n"));
        let checked = proxy.run(["check", "--json"]).await.expect(1).json();
        let first = &checked["problems"][0];
        let found = format!("{}:{}", first["line"], first["column"]);
        assert_eq!((first["file"].as_str(), found.as_str()), (Some("policy.star"), place), "{script}: {first}");
        assert!(first["message"].as_str().is_some_and(|text| text.contains(message)), "{script}: {first}");
        assert!(first["hint"].as_str().is_some_and(|text| text.contains(hint)), "{script}: {first}");
    }
}

#[tokio::test]
async fn a_mistake_in_an_extension_or_a_test_is_told_as_short() {
    let proxy = Proxy::with_config_text("extensions: { paths: [x.star, lib.star] }\n")
        .file("x.star", "def describe_extension():\n    return Extension(name = 'x', version = '1')\n")
        .file("lib.star", "def helper():\n    return 1\n")
        .file("x_test.star", "def test_it():\n    testing.eqq(1, 1)\n");
    let checked = proxy.run(["check", "--json"]).await.expect(0).json();
    let told: Vec<String> = checked["problems"]
        .as_array()
        .expect("they are listed")
        .iter()
        .map(|problem| format!("{}: {}", problem["message"].as_str().unwrap_or_default(), problem["hint"]))
        .collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.iter().any(|text| text == "this module has no member `eqq`: \"did you mean `eq`?\""), "{told:?}");
    assert!(told.iter().any(|text| text.starts_with("`lib.star` is not an extension")), "{told:?}");
}

#[tokio::test]
async fn what_became_of_each_item_of_a_server_is_shown() {
    let script = "\
def wrap(call):
    return lambda args: call(args)

for meta, call in backends()['one'].tools():
    if meta.name == 'echo':
        publish(meta.replace(name = 'say', description = 'Says it'), wrap(call))
    elif meta.name == 'search':
        publish(meta, call)
publish(metadata('mine', '', {}, {}), lambda args: None)
";
    let config = Config::new()
        .server("one", &fake_backend(["--only", "echo,search,fail"]))
        .section("sessionInit: { scriptFile: policy.star }");
    let proxy = Proxy::new(&config).file("policy.star", script);
    proxy.run(["check", "--live"]).await.expect(0);
    let checked = proxy.run(["check"]).await.expect(0);
    let shown: Vec<String> =
        checked.stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for line in [
        "one 3 tools as last seen 1 forwarded, 1 wrapped (1 renamed), 1 hidden",
        "echo one wrapped as say (changed: description)",
        "search one forwarded",
        "fail one hidden",
        "mine made by the script",
    ] {
        assert!(shown.iter().any(|shown| shown == line), "{line} is not in\n{}", checked.stdout);
    }
    let json = proxy.run(["check", "--json"]).await.expect(0).json();
    let offered = |name: &str| json["offered"].as_array().unwrap().iter().find(|item| item["name"] == name).unwrap();
    let echo = json!({"kind": "tool", "server": "one", "name": "echo", "became": "wrapped", "publishedAs": "say",
                      "changed": ["description"]});
    for (member, value) in echo.as_object().unwrap() {
        assert_eq!(offered("echo")[member], *value, "{json}");
    }
    let hidden = offered("fail");
    assert_eq!((&hidden["became"], &hidden["publishedAs"]), (&json!("hidden"), &json!(null)));
}

#[tokio::test]
async fn tools_behind_a_search_are_not_called_hidden_and_many_are_summed_up() {
    let proxy = Proxy::with_config_text("extensions: { paths: [x.star] }\noptimizer: { enabled: true }\n").file(
        "x.star",
        "def describe_extension():\n    return Extension(name = 'x', version = '1', tools = [Tool(name = 't%d' % i, description = '', handler = print) for i in range(100)])\n",
    );
    let checked = proxy.run(["check"]).await.expect(0);
    assert!(checked.stdout.contains("100 tools  100 searchable\n"), "{}", checked.stdout);
    assert!(checked.stdout.contains("103 items: `proxy check --all` lists each of them\n"), "{}", checked.stdout);
    assert!(checked.stdout.lines().count() < 15, "{}", checked.stdout);
    let all = proxy.run(["check", "--all"]).await.expect(0);
    assert!(all.stdout.lines().count() > 100, "{}", all.stdout);
}

#[tokio::test]
async fn a_name_in_the_config_that_nothing_has_is_found_in_what_was_last_seen() {
    let config = Config::new().server("one", &fake_backend(["--only", "echo,search", "--prompts"])).section(
        "aggregation:\n  tools:\n    - workload: one\n      filter: [ecoh, 'sea*']\n      exclude: ['nothing_*']\n      overrides:\n        serach: { name: find }\n  prompts:\n    - { workload: one, exclude: [absent] }",
    );
    let proxy = Proxy::new(&config);
    let unseen = proxy.run(["check", "--json"]).await.expect(0).json();
    assert_eq!(unseen["problems"], json!([]));
    for arguments in [["check", "--json", "--live"], ["check", "--json", "--strict"]] {
        let checked = proxy.run(arguments).await.json();
        let told: Vec<String> = checked["problems"]
            .as_array()
            .unwrap()
            .iter()
            .map(|problem| {
                let text = |key: &str| problem[key].as_str().unwrap_or_default().to_owned();
                format!("{} {} ({})", text("rule"), text("message"), text("hint"))
            })
            .collect();
        assert_eq!(told.len(), 4, "{told:?}");
        for (told, expected) in told.iter().zip([
            "unmatched-pattern `aggregation.tools[0].filter[0]`: nothing matches `ecoh` (did you mean `echo`?)",
            "unmatched-pattern `aggregation.tools[0].exclude[0]`: nothing matches `nothing_*` (the tools of `one` are `echo`, `search`)",
            "unmatched-pattern `aggregation.tools[0].overrides.serach`: nothing matches `serach` (did you mean `search`?)",
            "unmatched-pattern `aggregation.prompts[0].exclude[0]`: nothing matches `absent` (the prompts of `one` are ",
        ]) {
            assert!(told.starts_with(expected), "{told}\n{expected}");
        }
        let place = &checked["problems"][2];
        assert!(place["line"].as_u64().is_some() && place["file"] == "proxy.yaml", "{place}");
    }
}

#[tokio::test]
async fn all_sections_that_the_script_does_not_read_are_told_at_once() {
    let config = Config::new()
        .section("sessionInit: { scriptFile: policy.star }")
        .section("aggregation: {}\noptimizer: {}\nrateLimiting: {}");
    let proxy = Proxy::new(&config).file("policy.star", "passthrough()\n");
    let told = proxy.run(["check"]).await.expect(2).stderr;
    for section in ["aggregation", "optimizer", "rateLimiting"] {
        let expected = format!("error: `{section}` is set, but the session script `policy.star` never reads it");
        assert!(told.contains(&expected), "{told}");
    }
    let config = Config::new().section("aggregation: {}\noptimizer: {}");
    let lenient =
        Proxy::new(&config).file("policy.star", "passthrough()\n").run(["check", "policy.star"]).await.expect(0);
    assert_eq!(lenient.stderr.matches("never reads it").count(), 2, "{}", lenient.stderr);
}

#[tokio::test]
async fn a_file_of_functions_only_says_that_it_publishes_nothing() {
    let config = Config::new().section("sessionInit: { scriptFile: policy.star }");
    let proxy = Proxy::new(&config).file("policy.star", "def wrap(call):\n    return call\n");
    let configured = proxy.run(["check"]).await.expect(0).stderr;
    let expected = "warning[only-definitions]: `policy.star` publishes nothing: it only defines functions";
    assert!(configured.starts_with(expected), "{configured}");
    let alone = proxy.run(["check", "policy.star", "--strict"]).await.expect(0).stderr;
    assert!(alone.starts_with("note: `policy.star` only defines functions: it publishes nothing by itself"), "{alone}");
    for empty in ["", "# Nothing yet.\n", "\"\"\"A policy.\"\"\"\n"] {
        proxy.directory.write("policy.star", empty);
        for command in [&["check"][..], &["check", "policy.star"]] {
            let told = proxy.run(command.iter().copied()).await.expect(0).stderr;
            let expected = "warning[only-definitions]: `policy.star` publishes nothing: it is empty";
            assert!(told.starts_with(expected), "{told}");
        }
    }
}

#[tokio::test]
async fn a_syntax_error_of_the_config_says_how_to_correct_it() {
    for (text, expected) in [
        (
            "mcpServers:\n  a:\n    command: npx\n    args: [-y, @scope/server]\n",
            "error: invalid YAML: `@` must be quoted\n --> proxy.yaml:4:16\n  |\n4 |     args: [-y, @scope/server]\n",
        ),
        ("mcpServers:\n  a:\n\tcommand: npx\n", "error: invalid YAML: a tab in the indentation\n --> proxy.yaml:3:1\n"),
        (
            "mcpServers:\n  a:\n    command: npx\n    args: [\"a\"\nserve: {}\n",
            "error: invalid YAML: `[` is not closed\n --> proxy.yaml:4:11\n",
        ),
        (
            "mcpServers:\n  a:\n    command:npx\n",
            "error: `mcpServers.a`: expected a map of keys and values, found a string\n",
        ),
    ] {
        let told = Proxy::with_config_text(text).run(["check"]).await.expect(2).stderr;
        assert!(told.starts_with(expected), "{told}");
        assert!(told.contains("hint: "), "{told}");
    }
}

#[tokio::test]
async fn a_tool_that_is_called_by_its_name_in_code_mode_is_recognised() {
    let proxy = Proxy::with_config_text("extensions: { paths: [x.star] }\nsessionInit: { scriptFile: policy.star }\n")
        .file("x.star", "def describe_extension():\n    return Extension(name = 'x', version = '1', tools = [Tool(name = 'get-file', description = '', handler = print)])\n")
        .file("policy.star", "print(get_file())\nprint(get_fil())\n");
    let json = proxy.run(["check", "--json"]).await.expect(1).json();
    let hint = |index: usize| json["problems"][index]["hint"].as_str().unwrap_or_default().to_owned();
    assert!(hint(0).starts_with("`get_file()` is the tool `get-file` of `x` in code mode: "), "{json}");
    assert!(hint(1).starts_with("did you mean `get_file`? "), "{json}");
}

#[tokio::test]
async fn a_limit_for_something_that_is_not_published_is_told() {
    let config = Config::new().server("one", &fake_backend(["--only", "echo,search"])).section(
        "rateLimiting:\n  tools:\n    - { name: serach, perUser: { maxTokens: 1, refillPeriod: 1m } }\n    - { name: 'ec*', perUser: { maxTokens: 1, refillPeriod: 1m } }",
    );
    let proxy = Proxy::new(&config);
    assert_eq!(proxy.run(["check", "--json"]).await.expect(0).json()["problems"], json!([]));
    proxy.run(["check", "--live"]).await.expect(0);
    let problems = proxy.run(["check", "--json"]).await.expect(0).json()["problems"].clone();
    assert_eq!(problems.as_array().map(Vec::len), Some(1), "{problems}");
    assert_eq!(problems[0]["message"], "`rateLimiting.tools[0].name`: nothing is published under this name");
    assert_eq!(problems[0]["hint"], "did you mean `search`?");
}

#[tokio::test]
async fn the_same_command_in_another_folder_is_another_server_if_it_runs_a_file_of_that_folder() {
    // given
    let mut server = programs::proxy();
    server.args(["serve", "--extension", "tools.star"]);
    let config = Config::new().server("own", &server);
    let one = "def one(params):\n    return 'one'\n\ndef describe_extension():\n    return Extension(name = 'own', version = '1', \
               tools = [Tool(name = 'one', description = 'One.', handler = one)])\n";
    let proxy = Proxy::new(&config).file("tools.star", one).file("other/proxy.yaml", &config.text());
    // when
    let live = proxy.run(["check", "--live"]).await.expect(0);
    assert!(live.stdout.contains("own     1 tool"), "{}", live.stdout);
    let proxy = proxy.file("other/tools.star", &one.replace("one", "two"));
    let mut elsewhere = proxy.command(["check"]);
    elsewhere.current_dir(elsewhere.get_current_dir().expect("the folder of the test").join("other"));
    // then
    let checked = Finished::run(elsewhere).await.expect(0);
    assert!(checked.stdout.contains("own     never seen"), "{}", checked.stdout);
    let here = proxy.run(["check"]).await.expect(0);
    assert!(here.stdout.contains("own     1 tool"), "{}", here.stdout);
}
