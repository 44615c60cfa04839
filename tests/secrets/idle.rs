//! Commands run only for what needs their values.

use serde_json::json;

use super::with_value;
use crate::support::config::Config;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

const GET: &str = "#!/bin/sh\necho run >> runs\necho value-of-get-that-is-longer-than-32-bytes\n";

fn runs(proxy: &Proxy) -> usize {
    let text = std::fs::read_to_string(proxy.directory.path().join("runs")).unwrap_or_default();
    let _ = std::fs::remove_file(proxy.directory.path().join("runs"));
    text.lines().count()
}

#[tokio::test]
async fn check_and_lists_run_nothing_once_the_servers_are_known() {
    let proxy = Proxy::new(&with_value("${exec:./get}")).executable("get", GET);
    proxy.run(["check"]).await.expect(0);
    assert_eq!(runs(&proxy), 0);
    assert_eq!(proxy.run(["list-tools"]).await.expect(0).column(), ["env"], "the server has to start");
    assert_eq!(runs(&proxy), 1);
    for command in [
        vec!["check"],
        vec!["list-tools"],
        vec!["list-servers"],
        vec!["list-resources"],
        vec!["explain"],
        vec!["find", "env"],
        vec!["login", "--list"],
        vec!["types"],
    ] {
        let what = command.join(" ");
        proxy.run(command).await.expect(0);
        assert_eq!(runs(&proxy), 0, "{what}");
    }
    proxy.run(["call", "env"]).await.expect(0);
    assert_eq!(runs(&proxy), 1);
    proxy.run(["list-tools", "--live"]).await.expect(0);
    assert_eq!(runs(&proxy), 1);
}

#[tokio::test]
async fn a_server_that_is_new_runs_them_for_the_list() {
    let proxy = Proxy::new(&with_value("${exec:./get}")).executable("get", GET);
    proxy.run(["list-tools"]).await.expect(0);
    assert_eq!(runs(&proxy), 1);
    let entry = json!({"env": {"KEY": "${exec:./get other}"}});
    let config = with_value("${exec:./get}").server_with("other", &fake_backend(["--only", "echo"]), entry);
    proxy.directory.write("proxy.yaml", &config.text());
    assert_eq!(proxy.run(["list-tools"]).await.expect(0).column(), ["env", "echo"]);
    assert_eq!(runs(&proxy), 2);
}

#[tokio::test]
async fn nothing_is_read_or_run_for_a_disabled_server() {
    let entry = json!({"disabled": true, "env": {"KEY": "${exec:./get} ${file:none} ${credential:none}"}});
    let config = Config::new().server("one", &fake_backend(["--only", "echo"])).server_with(
        "two",
        &fake_backend(["--only", "env"]),
        entry,
    );
    let proxy = Proxy::new(&config).executable("get", GET);
    proxy.run(["check"]).await.expect(0);
    let called = proxy.run(["call", "echo", "a=1"]).await.expect(0);
    assert_eq!((runs(&proxy), called.stderr), (0, String::new()));
    let by_default = config.text().replace("\"disabled\":true", "\"timeout\":\"1s\"");
    let text = by_default + "defaults: { disabled: true }\n";
    proxy.directory.write("proxy.yaml", &text);
    proxy.run(["check"]).await.expect(0);
    assert_eq!(runs(&proxy), 0);
}

#[tokio::test]
async fn a_script_in_the_config_is_not_a_command() {
    let script = "sessionInit:\n  script: |\n    text = '${exec:./get}'\n    [publish(meta, call) for backend in backends().values() for meta, call in backend.tools()]\n";
    let config = Config::new().server("one", &fake_backend(["--only", "echo"])).section(script);
    let proxy = Proxy::new(&config).executable("get", GET);
    proxy.run(["call", "echo", "a=1"]).await.expect(0);
    assert_eq!(runs(&proxy), 0);
}

#[tokio::test]
async fn check_accepts_what_it_does_not_know() {
    let section = "serve: { stateKeys: ['${exec:./get}'], identityKey: '${exec:./get}' }\nstore: { url: '${exec:./get}' }\n\
                   auth: { tokens: [ { token: '${exec:./get}', sub: ann } ] }\n\
                   mcpServers: { a: { url: '${exec:./get}', auth: { type: oauth } }, b: { url: 'https://h.example/?key=${exec:./get}' } }";
    let proxy = Proxy::new(&Config::new().section(section)).executable("get", GET);
    let checked = proxy.run(["check"]).await.expect(0);
    assert!(!checked.stderr.contains("error"), "{}", checked.stderr);
    assert_eq!(runs(&proxy), 0);
    // Where they are known, they are judged.
    let served = proxy.run(["serve"]).await.expect(2).stderr;
    assert!(served.contains("`store.url`: unknown kind of store"), "{served}");
    assert!(!served.contains("value-of-get"), "{served}");
}

#[tokio::test]
async fn commands_find_the_running_proxy_without_running_the_commands_of_the_config() {
    let proxy = Proxy::new(&with_value("${exec:./get}")).executable("get", GET).http().await;
    proxy.client().initialize("2025-11-25").await;
    assert_eq!(runs(&proxy.world), 1);
    let called = proxy.world.run(["call", "env", "--json"]).await.expect(0);
    assert!(called.stdout.contains("value-of-get"), "{}", called.stdout);
    proxy.world.run(["list-tools"]).await.expect(0);
    proxy.world.run(["status"]).await.expect(0);
    assert_eq!(runs(&proxy.world), 0);
}
