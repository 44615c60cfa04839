//! What becomes of the values: servers get them, and nothing shows them.

use serde_json::json;

use super::{private, with_value};
use crate::support::config::Config;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;
use crate::support::stdio_client::StdioClient;

#[tokio::test]
async fn a_server_gets_the_text_of_a_file_without_the_newline_at_its_end() {
    let config = Config::new().server_with(
        "fake",
        &fake_backend(["--only", "env"]),
        json!({"env": {"KEY": "a ${file:keys/one} $${file:none}", "TWICE": "${file:keys/one}${file: keys/one }"}}),
    );
    let proxy = private(Proxy::new(&config), "keys/one", b"${HOME} s3cret\n");
    let env = proxy.run(["call", "env"]).await.expect(0).stdout;
    assert!(env.contains("a ${HOME} s3cret ${file:none}"), "a value is not looked at again: {env}");
    assert!(env.contains("\"${HOME} s3cret${HOME} s3cret\""), "{env}");
}

#[tokio::test]
async fn a_path_is_relative_to_the_file_that_names_it() {
    let server = with_value("${file:key}").text();
    let proxy = Proxy::with_config_text("include: [team/servers.yaml]\n").file("team/servers.yaml", &server);
    let proxy = private(proxy, "team/key", b"beside-the-included-file");
    let env = proxy.run(["call", "env"]).await.expect(0).stdout;
    assert!(env.contains("beside-the-included-file"), "{env}");
}

#[tokio::test]
async fn a_server_gets_a_credential_of_the_service() {
    let proxy = private(Proxy::new(&with_value("${credential:github.token}")), "run/github.token", b"s3cret-1\n");
    let folder = proxy.directory.path().join("run").display().to_string();
    let proxy = proxy.environment("CREDENTIALS_DIRECTORY", &folder);
    let env = proxy.run(["call", "env"]).await.expect(0).stdout;
    assert!(env.contains("s3cret-1"), "{env}");
}

#[tokio::test]
async fn a_credential_outside_of_a_service_is_told_with_the_cure() {
    let proxy = Proxy::new(&with_value("${credential:token}"));
    let told = proxy.run(["serve"]).await.expect(2).stderr;
    assert!(told.contains("`mcpServers.fake.env.KEY`: the credential `token` cannot be read"), "{told}");
    assert!(
        told.contains("`$CREDENTIALS_DIRECTORY` is not set") && told.contains("`LoadCredential=NAME:FILE`"),
        "{told}"
    );
    // A shell has none, and there the config can be checked all the same.
    proxy.run(["check"]).await.expect(0);
    let wrong = Proxy::new(&with_value("${credential:../token}")).run(["check"]).await.expect(2).stderr;
    assert!(wrong.contains("needs the name of a credential, without `/`"), "{wrong}");
}

#[tokio::test]
async fn a_server_gets_what_a_command_prints() {
    let config = Config::new().server_with(
        "fake",
        &fake_backend(["--only", "env"]),
        json!({"env": {
            "KEY": "Bearer ${exec:./get 'two words' $HOME \"a\\\"b\"}",
            "SHELL_OUT": "${exec:sh -c 'echo $OUTSIDE'}",
        }}),
    );
    let proxy = Proxy::new(&config)
        .executable("get", "#!/bin/sh\nread line && exit 9\nprintf '<%s>' \"$@\"\necho\n")
        .environment("OUTSIDE", "from the proxy's environment");
    let env = proxy.run(["call", "env"]).await.expect(0).stdout;
    assert!(env.contains(r#"Bearer <two words><$HOME><a\"b>"#), "words without a shell and without input: {env}");
    assert!(env.contains("from the proxy's environment"), "{env}");
}

#[tokio::test]
async fn each_command_runs_once_a_load() {
    let value = "${exec:./get}";
    let keys = json!({"env": {"KEY": value, "OTHER": value}, "args": ["--only", "env", "--name", value]});
    let config = Config::new()
        .server_with("one", &fake_backend([]), keys.clone())
        .server_with("two", &fake_backend([]), keys)
        .section("aggregation: { conflictResolution: prefix }");
    let proxy = Proxy::new(&config).executable("get", "#!/bin/sh\necho run >> runs\necho value-of-get\n");
    let env = proxy.run(["call", "two_env"]).await.expect(0).stdout;
    assert_eq!(env.matches("value-of-get").count() % 2, 0, "{env}");
    let runs = std::fs::read_to_string(proxy.directory.path().join("runs")).unwrap();
    assert_eq!(runs, "run\n");
}

#[tokio::test]
async fn nine_commands_run_eight_at_once() {
    // Each says that it has begun, and waits until eight have; the ninth finds them.
    let script = "#!/bin/sh\necho $1 >> began\nfor i in $(seq 500); do\n  [ $(wc -l < began) -ge 8 ] && break\n  sleep 0.01\ndone\n\
                  sleep 0.2\nwc -l < began\n";
    let env: serde_json::Map<_, _> =
        (0..9).map(|n| (format!("KEY{n}"), json!(format!("count ${{exec:./get {n}}}")))).collect();
    let config = Config::new().server_with("fake", &fake_backend(["--only", "env"]), json!({"env": env}));
    let proxy = Proxy::new(&config).executable("get", script);
    let told = proxy.run(["call", "env"]).await.expect(0).stdout;
    assert_eq!(told.matches("count ").count() % 9, 0, "{told}");
    let nine = told.matches("count 9").count();
    assert!(told.contains("count 8") && nine > 0 && nine < told.matches("count ").count(), "eight, then one: {told}");
    let began = std::fs::read_to_string(proxy.directory.path().join("began")).unwrap();
    assert_eq!(began.lines().count(), 9);
}

#[tokio::test]
async fn values_are_hidden_wherever_the_log_would_show_them() {
    let config = Config::new().server_with(
        "fake",
        &fake_backend(["--only", "echo"]),
        json!({"args": ["--only", "echo", "--stderr", "args have ${file:key} and ${exec:./get}"]}),
    );
    let proxy = private(Proxy::new(&config), "key", b"s3cret-of-a-file\n")
        .executable("get", "#!/bin/sh\necho s3cret-of-a-command\n");
    let mut client = StdioClient::start(proxy.command(["serve", "--log", "trace"]));
    client.initialize("2025-11-25").await.result();
    client.call("echo", r#"{"a":"s3cret-of-a-file s3cret-of-a-command"}"#).await.result();
    client.stderr().line("args have ••• and •••").await;
    assert_eq!(client.finish().await.code(), Some(0));
    let log = client.stderr().whole().await;
    assert!(!log.contains("s3cret"), "{log}");
}
