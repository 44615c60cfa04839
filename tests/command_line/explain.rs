//! `proxy explain`: what became of an item, where in the script it was decided, and why.

use serde_json::{Value, json};

use super::{two_servers, world};
use crate::support::config::Config;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

/// One decision of each kind. The comments count the lines.
const POLICY: &str = "\
def wrap(call):
    def handler(args):
        return call(args)
    return handler

for meta, call in backends()['one'].tools():
    if meta.name == 'echo':
        meta = meta.replace(description = 'Says it')
        publish(meta.replace(name = 'say'), wrap(call))
    elif meta.name == 'search':
        publish(meta, call)
    elif meta.name == 'fail':
        skip(meta, 'it only fails')
def publish_mine():
    publish(metadata('mine', '', {}, {}), lambda args: skip(backends()['one'].tools()[0][0], 'in a handler'))
publish_mine()
for meta, call in backends()['one'].prompts():
    publish_prompt(meta.replace(title = 'Greeting'), call)
";

/// Two servers whose lists are known, and a script of one's own.
async fn explained(config: Config, script: &str) -> Proxy {
    let config = config.section("sessionInit: { scriptFile: policy.star }");
    let proxy = Proxy::new(&config).file("policy.star", script);
    proxy.run(["list-servers", "--live"]).await.expect(0);
    proxy
}

fn one_server() -> Config {
    Config::new().server("one", &fake_backend(["--only", "echo,search,fail,slow", "--prompts"]))
}

async fn text(proxy: &Proxy, arguments: &[&str]) -> String {
    proxy.run(["explain"].iter().chain(arguments).copied()).await.expect(0).stdout
}

#[tokio::test]
async fn each_decision_of_a_script_is_shown_with_its_line() {
    let proxy = explained(one_server(), POLICY).await;
    for (name, expected) in [
        (
            "say",
            "say (tool)\n  offered by one as echo\n  rewritten: description (at policy.star:8)\n  renamed at policy.star:9\n  \
             wrapped by `handler`\n  published at policy.star:9\n",
        ),
        ("search", "search (tool)\n  offered by one\n  published at policy.star:11\n"),
        ("fail", "fail (tool)\n  offered by one\n  not published: it only fails (policy.star:13)\n"),
        ("slow", "slow (tool)\n  offered by one\n  not published: no `publish()` mentions it\n"),
        ("mine", "mine (tool)\n  made by the script, published at policy.star:15, called from policy.star:16\n"),
        (
            "greet",
            "greet (prompt)\n  offered by one\n  rewritten: title (at policy.star:18)\n  published at policy.star:18\n",
        ),
    ] {
        assert_eq!(text(&proxy, &[name]).await, expected);
    }
    // The name at the server means the same item.
    assert_eq!(text(&proxy, &["echo"]).await, text(&proxy, &["one/say"]).await);

    let all = text(&proxy, &[]).await;
    let all: Vec<String> = all.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for line in [
        "TOOL SERVER RESULT AT WHY",
        "echo one wrapped as say (changed: description) policy.star:9",
        "search one forwarded policy.star:11",
        "fail one hidden policy.star:13 it only fails",
        "slow one hidden no `publish()` mentions it",
        "mine made by the script policy.star:15",
        "greet one forwarded (changed: title) policy.star:18",
    ] {
        assert!(all.iter().any(|shown| shown == line), "{line} is not in\n{}", all.join("\n"));
    }
    // `proxy check` has the same reasons.
    let checked = proxy.run(["check"]).await.expect(0).stdout;
    assert!(checked.contains("hidden: it only fails"), "{checked}");

    let json = proxy.run(["explain", "--json", "say"]).await.expect(0).json();
    let at = |line: u32| json!([{"file": "policy.star", "line": line}]);
    assert_eq!(
        json,
        json!([{
            "kind": "tool", "server": "one", "name": "echo", "became": "wrapped", "publishedAs": "say",
            "changed": ["description"], "publishedAt": at(9), "handler": "handler", "why": null, "skippedAt": null,
            "edits": [{"members": ["description"], "at": at(8)}, {"members": ["name"], "at": at(9)}],
        }])
    );
}

#[tokio::test]
async fn a_name_that_nothing_has_is_an_error_with_a_suggestion() {
    let proxy = explained(one_server(), POLICY).await;
    let unknown = proxy.run(["explain", "serach"]).await.expect(1);
    assert_eq!(
        unknown.stderr,
        "error: no server offers `serach`, and the script does not create it\n |\n = hint: did you mean `search`?\n"
    );
    // Nothing is known of servers that were never started.
    let unknown = world().run(["explain", "search"]).await.expect(1);
    assert!(unknown.stderr.contains("server `one` was never seen: --live starts it"), "{}", unknown.stderr);
    let live = world().run(["explain", "search", "--live"]).await.expect(0);
    assert!(live.stdout.contains("search (tool)\n  offered by one\n"), "{}", live.stdout);
}

#[tokio::test]
async fn the_presets_say_why_they_hide_and_where_they_rename() {
    let config = two_servers().section(
        "aggregation: { tools: [{ workload: one, exclude: [\"fa*\"] }, { workload: two, filter: [search] }] }",
    );
    let proxy = Proxy::new(&config);
    proxy.run(["list-servers", "--live"]).await.expect(0);
    let excluded = text(&proxy, &["fail"]).await;
    let reason = "  not published: excluded by `aggregation.tools[].exclude` (lib@1.star:";
    assert!(excluded.contains(reason) && excluded.contains(", called from default@1.star:"), "{excluded}");
    let filtered = text(&proxy, &["read"]).await;
    assert!(filtered.contains("not published: no pattern of `aggregation.tools[].filter` matches it"), "{filtered}");
    // Both servers have a `search`; the second one is renamed.
    let both = text(&proxy, &["search"]).await;
    let (first, second) = both.split_once("\n\n").expect("two items");
    assert!(first.starts_with("search (tool)\n  offered by one\n  published at default@1.star:"), "{both}");
    let renamed = "two_search (tool)\n  offered by two as search\n  renamed at lib@1.star:";
    assert!(second.starts_with(renamed), "{both}");
    assert!(second.contains(": `search` is taken by `one`\n"), "{both}");
    assert_eq!(text(&proxy, &["two/search"]).await, second);

    let config = two_servers()
        .section("aggregation: { conflictResolution: priority, conflictResolutionConfig: { priorityOrder: [two] } }");
    let proxy = Proxy::new(&config);
    proxy.run(["list-servers", "--live"]).await.expect(0);
    let lost = text(&proxy, &["one/search"]).await;
    assert!(lost.contains("  not published: `search` of `two` has priority (lib@1.star:"), "{lost}");

    // What the optimizer hides can be found, and what the command line leaves out has a reason too.
    let proxy = Proxy::new(&two_servers().section("optimizer: { enabled: true, listBelow: 1, pinned: [echo] }\n"));
    proxy.run(["list-servers", "--live"]).await.expect(0);
    let found = text(&proxy, &["slow"]).await;
    assert!(found.contains("  not listed: `find_tool` finds it and `call_tool` calls it"), "{found}");
    let dropped = text(&proxy, &["echo", "--tools", "find_*"]).await;
    assert!(dropped.contains("  not listed: `--tools` does not name it\n"), "{dropped}");
}

#[tokio::test]
async fn a_personal_script_is_explained_for_each_user() {
    let script = "\
for meta, call in backends()['one'].tools():
    if meta.name == 'fail' and 'ops' not in current_user().groups:
        skip(meta, 'only for ops, not for ' + current_user().sub)
    else:
        publish(meta.replace(title = 'Ours'), call)
";
    let tokens =
        "auth: {tokens: [{token: secret-token-of-a, sub: ann, groups: [ops]}, {token: secret-token-of-b, sub: bob}]}";
    let proxy = explained(one_server().section(tokens), script).await;
    let shown = text(&proxy, &["fail", "--as-user", "bob"]).await;
    assert!(shown.ends_with("  not published: only for ops, not for bob (policy.star:3)\n"), "{shown}");
    let shown = text(&proxy, &["fail", "--as-user", "ann"]).await;
    assert!(shown.ends_with("  rewritten: title (at policy.star:5)\n  published at policy.star:5\n"), "{shown}");
    let live = proxy.run(["explain", "fail", "--live", "--as-user", "bob", "--json"]).await.expect(0).json();
    let fates: Vec<&Value> = live.as_array().into_iter().flatten().map(|item| &item["became"]).collect();
    assert_eq!(fates, [&json!("hidden")]);
}
