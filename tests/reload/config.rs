//! The config file: what changed in it is done, and nothing else is touched.

use serde_json::{Value, json};

use super::serving;
use crate::support::config::Config;
use crate::support::program::is_gone;
use crate::support::programs::fake_backend;
use crate::support::proxy::{Proxy, StdioProxy};

const PREFIX: &str = "aggregation: { conflictResolution: prefix }";

fn servers(names: &[&str]) -> Config {
    let with = |config: Config, name: &&str| config.server(name, &fake_backend(["--only", "pid"]));
    names.iter().fold(Config::new().section(PREFIX), with)
}

async fn pid(proxy: &mut StdioProxy, server: &str) -> u32 {
    let answer = proxy.client.call(&format!("{server}_pid"), "{}").await.structured();
    let answer: Value = serde_json::from_str(&answer).expect("it is JSON");
    answer["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()).expect("it is a process id")
}

#[tokio::test]
async fn servers_come_and_go_and_the_untouched_one_keeps_its_process() {
    let mut proxy = serving(Proxy::new(&servers(&["stays", "goes"]))).await;
    let (stays, goes) = (pid(&mut proxy, "stays").await, pid(&mut proxy, "goes").await);
    proxy.write("proxy.yaml", &servers(&["stays", "comes"]).text());
    proxy.client.tools_until(|names| names == ["stays_pid", "comes_pid"]).await;
    proxy.client.stderr().line("reloaded proxy.yaml: 2 tools, as before; added: `comes`; removed: `goes`").await;
    assert_eq!(pid(&mut proxy, "stays").await, stays);
    is_gone(goes, proxy.client.stderr()).await;
    let comes = pid(&mut proxy, "comes").await;
    // Another entry is another process, and moving an entry is nothing.
    let changed = Config::new()
        .section(PREFIX)
        .server_with("comes", &fake_backend(["--only", "pid"]), json!({"timeout": "7s"}))
        .server("stays", &fake_backend(["--only", "pid"]));
    proxy.write("proxy.yaml", &changed.text());
    proxy.client.stderr().line("; restarted: `comes`").await;
    is_gone(comes, proxy.client.stderr()).await;
    assert_ne!(pid(&mut proxy, "comes").await, comes);
    assert_eq!(pid(&mut proxy, "stays").await, stays);
    // What came first stays first, so that no name moves to another server.
    assert_eq!(proxy.tools().await, ["stays_pid", "comes_pid"]);
}

#[tokio::test]
async fn reconnections_are_counted_on_when_the_entry_of_a_server_changes() {
    let server = fake_backend(["--only", "echo,crash"]);
    let mut proxy = serving(Proxy::new(&Config::new().server("fake", &server))).await;
    proxy.client.call("crash", r#"{"code":3}"#).await;
    proxy.client.call_until_it_works("echo", "{}").await;
    assert_eq!(proxy.status().await["servers"][0]["restarts"], 1);
    proxy.write("proxy.yaml", &Config::new().server_with("fake", &server, json!({"timeout": "7s"})).text());
    proxy.client.stderr().line("; restarted: `fake`").await;
    assert_eq!(proxy.status().await["servers"][0]["restarts"], 1);
}

#[tokio::test]
async fn sections_for_the_script_are_taken_up() {
    let mut proxy = serving(Proxy::new(&servers(&["a"]))).await;
    let config = Config::new().server("a", &fake_backend(["--only", "pid"]));
    let before = pid(&mut proxy, "a").await;
    let section = "aggregation: { tools: [ { workload: a, overrides: { pid: { name: number } } } ] }";
    proxy.write("proxy.yaml", &config.clone().section(section).text());
    assert_eq!(proxy.changed_tools().await, ["number"]);
    let script = "script: |\n    for meta, call in backends()['a'].tools():\n      publish(meta.replace(name = config()['params']['name']), call)\n";
    for name in ["one", "two"] {
        let section = format!("sessionInit:\n  params: {{ name: {name} }}\n  {script}");
        proxy.write("proxy.yaml", &config.clone().section(&section).text());
        assert_eq!(proxy.changed_tools().await, [name]);
    }
    let answer = proxy.client.call("two", "{}").await.structured();
    assert_eq!(answer, format!(r#"{{"pid":{before}}}"#));
}

#[tokio::test]
async fn an_invalid_config_changes_nothing_and_is_shown_until_it_is_mended() {
    let good = servers(&["a", "b"]);
    let mut proxy = serving(Proxy::new(&good)).await;
    let before = (pid(&mut proxy, "a").await, pid(&mut proxy, "b").await);
    for (text, expected) in [
        ("mcpServers: { a: { comand: x } }\n".to_owned(), "unknown key `mcpServers.a.comand`"),
        ("mcpServers: [\n".to_owned(), "invalid YAML"),
        // The config is well formed, but its script does not work: the servers stay as well.
        (servers(&["a"]).section("sessionInit: { script: 'fail(\"no such luck\")' }").text(), "no such luck"),
        (servers(&["a"]).section("extensions: { paths: [nowhere.star] }").text(), "there is no extension at"),
    ] {
        proxy.write("proxy.yaml", &text);
        proxy.client.stderr().line(expected).await;
        let status = proxy.status().await;
        assert!(status["configErrors"].to_string().contains(expected), "{status}");
        assert_eq!(proxy.tools().await, ["a_pid", "b_pid"]);
        assert_eq!((pid(&mut proxy, "a").await, pid(&mut proxy, "b").await), before);
    }
    std::fs::remove_file(proxy.world.directory.path().join("proxy.yaml")).unwrap();
    proxy.client.stderr().line("config file `proxy.yaml` not found").await;
    proxy.write("proxy.yaml", &servers(&["a"]).text());
    assert_eq!(proxy.changed_tools().await, ["a_pid"]);
    assert_eq!(proxy.status().await["configErrors"], json!([]));
}

#[tokio::test]
async fn keys_that_cannot_change_now_say_when_they_do() {
    let mut proxy = serving(Proxy::new(&servers(&["a"]))).await;
    let section = "serve: { path: /other, maxSessions: 5, stateKeys: [a-s3cret-key-of-more-than-thirty-two-bytes] }\naudit: { file: a.jsonl }";
    proxy.write("proxy.yaml", &servers(&["a"]).section(section).text());
    for key in ["serve.path", "serve.maxSessions", "serve.stateKeys", "audit"] {
        let expected = format!("`{key}` was changed in proxy.yaml: takes effect at the next start");
        proxy.client.stderr().line(&expected).await;
    }
    proxy.client.stderr().line("reloaded proxy.yaml: 1 tool, as before").await;
    assert_eq!(proxy.tools().await, ["a_pid"]);
    proxy.write("proxy.yaml", &servers(&["a"]).text());
    proxy.client.stderr().line("`serve.path` in proxy.yaml is again as at the start").await;
    assert!(!proxy.client.stderr().text().contains("s3cret"));
}

#[tokio::test]
async fn a_server_starts_again_when_its_env_file_changes() {
    let config = |file: &str| {
        let server = fake_backend(["--only", "env"]);
        Config::new().server_with("a", &server, json!({"envFile": file})).text()
    };
    let proxy = Proxy::with_config_text(&config("my.env")).file("my.env", "KEY=old\n");
    let mut proxy = serving(proxy).await;
    let stderr = proxy.client.stderr().clone();
    proxy.write("my.env", "KEY=new\n");
    stderr.line("; restarted: `a`").await;
    let env = proxy.client.call("env", "{}").await.raw;
    assert!(env.contains("new") && !env.contains("old"), "{env}");
    // A file that is missing is waited for.
    proxy.write("proxy.yaml", &config("later.env"));
    stderr.line("later.env`: No such file").await;
    proxy.write("later.env", "KEY=latest\n");
    stderr.times("; restarted: `a`", 2).await;
    let env = proxy.client.call("env", "{}").await.raw;
    assert!(env.contains("latest"), "{env}");
}
