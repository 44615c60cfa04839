//! What servers get of the environment.

use serde_json::json;

use super::empty;
use crate::support::config::Config;
use crate::support::examples;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

#[tokio::test]
async fn a_server_gets_the_variables_that_the_config_names_and_those_of_the_network() {
    let config = Config::new()
        .server_with("fake", &fake_backend(["--only", "env"]), json!({"inheritEnv": ["MINE_*"]}))
        .section("inheritEnv: [OURS]");
    let proxy = Proxy::new(&config)
        .environment("MINE_TOO", "1")
        .environment("OURS", "2")
        .environment("THEIRS", "3")
        .environment("https_proxy", "http://proxy:3128")
        .environment("ALL_PROXY", "http://me:secret@proxy:3128");
    let env = proxy.run(["call", "env"]).await.expect(0).stdout;
    for passed in ["MINE_TOO", "OURS", "https_proxy"] {
        assert!(env.contains(passed), "{passed}: {env}");
    }
    assert!(!env.contains("THEIRS") && !env.contains("ALL_PROXY"), "{env}");
}

#[tokio::test]
async fn a_server_of_the_command_line_gets_variables_of_the_command_line() {
    let server = format!("fake={} --only env", examples::path("fake-backend").display());
    let proxy = empty();
    let env = proxy.run(["call", "env", "--server", &server, "--env", "KEY=a=b"]).await.expect(0).stdout;
    assert!(env.contains("KEY") && env.contains("a=b"), "{env}");
    let wrong = proxy.run(["call", "env", "--server", &server, "--env", "s3cret"]).await.expect(2).stderr;
    assert!(wrong.contains("`--env`: expected NAME=VALUE") && !wrong.contains("s3cret"), "{wrong}");
    proxy.run(["call", "env", "--env", "KEY=1"]).await.expect(2);
}

#[tokio::test]
async fn a_server_gets_the_variables_of_its_env_file_and_env_takes_precedence() {
    let keys = json!({"envFile": "secrets/.env", "env": {"BOTH": "from-env"}});
    let config = Config::new().server_with("fake", &fake_backend(["--only", "env"]), keys);
    let proxy = Proxy::new(&config);
    proxy.directory.directory("secrets");
    let proxy = proxy.file("secrets/.env", "# mine\nexport KEY='a # b'\nBOTH=from-file\n");
    let env = proxy.run(["call", "env"]).await.expect(0).stdout;
    assert!(env.contains("a # b") && env.contains("from-env") && !env.contains("from-file"), "{env}");
}

#[tokio::test]
async fn an_env_file_that_cannot_be_read_is_told_without_its_secrets() {
    let check = async |text: Option<&[u8]>, keys: &str| {
        let proxy = Proxy::with_config_text(&format!("mcpServers:\n  a: {{{keys}, envFile: my.env}}\n"));
        if let Some(text) = text {
            std::fs::write(proxy.directory.path().join("my.env"), text).unwrap();
        }
        proxy.run(["check"]).await
    };
    let missing = check(None, "command: x").await.expect(2).stderr;
    assert!(missing.contains("proxy.yaml:2:") && missing.contains("my.env`: No such file"), "{missing}");
    let line = check(Some(b"A=s3cret\ns3cret\n"), "command: x").await.expect(2).stderr;
    assert!(line.contains("my.env:2:1") && line.contains("`mcpServers.a.envFile`: expected NAME=VALUE"), "{line}");
    assert!(!line.contains("s3cret"), "{line}");
    let binary = check(Some(b"A=1\nB=\xff\n"), "command: x").await.expect(2).stderr;
    assert!(binary.contains("my.env` is not UTF-8 (line 2)"), "{binary}");
    let remote = check(Some(b"A=1\n"), "url: 'http://h/mcp'").await.expect(2).stderr;
    assert!(remote.contains("`mcpServers.a.envFile`: requires `command`"), "{remote}");
    // A disabled server needs no file.
    check(None, "command: x, disabled: true").await.expect(0);
}

#[tokio::test]
async fn a_variable_without_braces_is_a_warning_with_its_line_and_the_cure() {
    let proxy = Proxy::with_config_text(
        "mcpServers:\n  a:\n    command: x\n    args: [$MY_DIR/x, $$MY_DIR, '${MY_DIR}']\n    env: { PASSWORD: abc$ECRET }\n\
         sessionInit:\n  script: |\n    text = '$MY_DIR'\n",
    )
    .environment("MY_DIR", "/d");
    let warned = proxy.run(["check"]).await.expect(0).stderr;
    assert_eq!(warned.matches("without braces").count(), 2, "{warned}");
    assert!(warned.contains("warning: `mcpServers.a.args[0]`: `$MY_DIR` without braces"), "{warned}");
    assert!(warned.contains("proxy.yaml:4:") && warned.contains("write `${MY_DIR}` for its value"), "{warned}");
    assert!(warned.contains("proxy.yaml:5:") && !warned.contains("ECRET"), "{warned}");
}

#[tokio::test]
async fn the_last_lines_of_a_server_that_does_not_start_are_shown() {
    let script = "for line in 1 2 3 4 5 6; do echo \"line $line\" >&2; done; exit 3";
    let config = json!({"mcpServers": {"a": {"command": "sh", "args": ["-c", script.replace('$', "$$")]}}});
    let proxy = Proxy::with_config_text(&config.to_string());
    let warned = proxy.run(["list-tools"]).await.expect(1).stderr;
    assert!(warned.contains("it last said:"), "{warned}");
    assert!(!warned.contains("line 1"), "{warned}");
    for line in 2..=6 {
        assert!(warned.lines().any(|shown| shown.trim() == format!("line {line}")), "{warned}");
    }
    let table = proxy.run(["list-servers"]).await.expect(1).stdout;
    assert!(table.contains("it last said: line 2 | line 3 | line 4 | line 5 | line 6\n"), "{table}");
}
