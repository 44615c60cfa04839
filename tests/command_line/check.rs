use serde_json::json;

use super::{empty, two_servers, world};
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
error: `serve.maxSessions`: expected a whole number, found `many`
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
                "severity": "error", "message": "unknown key `mcpServers.github.comand`",
                "file": "proxy.yaml", "line": 3, "column": 5, "hint": "did you mean `command`?",
            },
            {
                "severity": "error", "message": "`serve.maxSessions`: expected a whole number, found `many`",
                "file": "proxy.yaml", "line": 6, "column": 16, "hint": null,
            },
        ])
    );
}

#[tokio::test]
async fn a_bad_script_is_exit_1_with_its_line() {
    let config = two_servers().section("sessionInit: { scriptFile: policy.star }");
    let proxy = Proxy::new(&config).file("policy.star", "for name in backends():\n    publish(nmae, print)\n");
    let checked = proxy.run(["check"]).await.expect(1);
    assert!(checked.stderr.contains("error: Variable `nmae` not found"), "{}", checked.stderr);
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
    assert!(bad.stderr.contains("the first argument of publish() must be a metadata, not a `int`"), "{}", bad.stderr);
    let bad = proxy.run(["check", "tool.star"]).await.expect(1);
    assert!(bad.stderr.contains("the tool name \"a b\" is not allowed"), "{}", bad.stderr);
    // One bad file does not hide the next.
    let both = proxy.run(["check", "bad.yaml", "bad.star"]).await.expect(2);
    assert!(both.stderr.contains("unknown key `serv`") && both.stderr.contains("publish()"), "{}", both.stderr);
    let none = proxy.run(["check", "none.star"]).await.expect(2);
    assert!(none.stderr.starts_with("error: `none.star` cannot be read: "), "{}", none.stderr);
}
