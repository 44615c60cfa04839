//! Values of `env`, `headers` and `token` appear in nothing that is printed.

use super::empty;
use crate::support::finished::Finished;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;
use crate::support::stdio_client::StdioClient;

const SECRETS: [&str; 4] = ["s3cret-in-env", "s3cret-in-header", "s3cret-token-of-ann", "s3cret-from-outside"];

fn config() -> String {
    let program = fake_backend([]);
    format!(
        "mcpServers:\n  one:\n    command: {}\n    args: [--only, \"echo,fail\"]\n    env: {{ KEY: s3cret-in-env, OTHER: \"${{OUTSIDE}}\" }}\n  \
         two:\n    url: http://127.0.0.1:1/mcp\n    headers: {{ Authorization: Bearer s3cret-in-header }}\n\
         auth:\n  tokens:\n    - {{ token: s3cret-token-of-ann, sub: ann }}\n",
        serde_json::json!(program.get_program().to_string_lossy())
    )
}

fn world(config: &str) -> Proxy {
    Proxy::with_config_text(config).environment("OUTSIDE", "s3cret-from-outside")
}

#[track_caller]
fn assert_clean(what: &str, finished: &Finished) {
    for secret in SECRETS {
        for text in [&finished.stdout, &finished.stderr] {
            assert!(!text.contains(secret), "{what} shows {secret}:\n{text}");
        }
    }
}

#[tokio::test]
async fn no_command_shows_them() {
    let proxy = world(&config());
    for arguments in [
        vec!["check"],
        vec!["check", "--live", "--json"],
        vec!["list-servers", "--json", "--log", "trace"],
        vec!["list-tools", "--all", "--log", "trace"],
        vec!["call", "echo", "a=1", "--log", "trace"],
        vec!["call", "fail", "--log", "trace"],
    ] {
        let what = arguments.join(" ");
        let finished = proxy.run(arguments).await;
        assert!(!finished.stdout.is_empty(), "{what} says nothing: {}", finished.stderr);
        assert_clean(&what, &finished);
    }
}

#[tokio::test]
async fn the_log_of_a_server_does_not_show_them() {
    let proxy = world(&config());
    let mut client = StdioClient::start(proxy.command(["serve", "--log", "trace"]));
    client.initialize("2025-11-25").await.result();
    client.call("echo", "{}").await.result();
    client.call("fail", "{}").await.result();
    client.stderr().line("WARN  two: cannot connect").await;
    assert_eq!(client.finish().await.code(), Some(0));
    let finished = Finished { code: 0, stdout: String::new(), stderr: client.stderr().whole().await };
    assert_clean("serve", &finished);
}

#[tokio::test]
async fn no_config_error_shows_them() {
    let good = config();
    for (from, to) in [
        ("env: {", "evn: {"),
        ("headers: {", "haeders: {"),
        ("headers: {", "headers: [{"),
        ("token: s3cret-token-of-ann", "tokn: s3cret-token-of-ann"),
        ("s3cret-in-env,", "s3cret-in-env-${NONE},"),
        ("sub: ann", "sub: ''"),
        ("Bearer s3cret-in-header", "\"Bearer s3cret-in-header\\n\""),
    ] {
        let bad = good.replace(from, to);
        assert_ne!(bad, good, "`{from}` is in the config");
        let proxy = world(&bad);
        for command in ["check", "serve"] {
            let finished = proxy.run([command]).await.expect(2);
            assert!(finished.stderr.contains("error: "), "{}", finished.stderr);
            assert_clean(&format!("{command} after `{from}` became `{to}`"), &finished);
        }
    }
}

#[tokio::test]
async fn an_import_shows_names_only() {
    let proxy = empty().file(
        "client.json",
        r#"{"mcpServers": {"one": {"command": "x", "env": {"KEY": "s3cret-in-env"}},
            "two": {"url": "https://h.example/mcp", "headers": {"Authorization": "s3cret-in-header"}}}}"#,
    );
    let finished = proxy.run(["init", "--from", "client.json", "--yes"]).await.expect(0);
    assert!(finished.stderr.contains("(sets KEY)"), "{}", finished.stderr);
    assert_clean("init", &finished);
}
