//! Keys in the folder, the config and the environment, and what a draft can find of them.

use serde_json::{Value, json};

use super::{Author, world};
use crate::support::config::Config;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

const KEY: &str = "sk-live-4f9a8b7c6d5e";

/// A world with the key wherever people put keys.
fn world_with_keys() -> Proxy {
    let server = fake_backend(["--only", "notify,echo", "--token", KEY]);
    let more = json!({"env": {"API_KEY": KEY}, "envFile": ".env"});
    let headers = json!({"headers": {
        "Authorization": format!("Bearer {KEY}"),
        "X": "${API_KEY}",
        "F": "${file:key.txt}",
        "E": "${exec:touch ran}",
    }});
    let params = "sessionInit: {scriptFile: policy.star, params: {region: \"${REGION}\", mode: \"${UNSET:-plain}\"}}";
    let config =
        Config::new().server_with("fake", &server, more).remote_with("web", "${ADDRESS}", headers).section(params);
    Proxy::new(&config)
        .environment("API_KEY", KEY)
        .environment("ADDRESS", &format!("https://host.invalid/mcp?key={KEY}"))
        .environment("REGION", KEY)
        .file(".env", &format!("KEY={KEY}\n"))
        .file("key.pem", KEY)
        .file("key.txt", KEY)
        .file("data.json", &json!({"key": KEY}).to_string())
        .file("policy.star", "region = config()[\"params\"][\"region\"]\n")
}

#[tokio::test]
async fn a_draft_finds_no_key_in_the_folder_the_config_or_the_environment() {
    let mut author = Author::start(world_with_keys()).await;
    let look = [
        "data.load_text(\".env\")",
        "data.load_text(\"key.pem\")",
        "data.load_json(\"data.json\")",
        "data.load_text(\"proxy.yaml\")",
        "env.get(\"API_KEY\", \"nothing\")",
        "str(testing.session(script = \"policy.star\").tools())",
    ];
    for expression in look {
        let text = format!("def test_it():\n    fail(\"found: \" + str({expression}))\n");
        let answer = author.call("test", json!({"files": {"a_test.star": text}})).await;
        assert!(!answer.raw.contains(KEY), "{expression}: {}", answer.raw);
    }
    let found = author.tested("def test_it():\n    fail(env.get(\"API_KEY\", \"nothing\"))\n").await;
    let stand_in = found["tests"][0]["error"]["message"].as_str().unwrap();
    assert!(stand_in.starts_with("hidden"), "{found:#}");
    let params = "fail(\"params: \" + str(config()[\"params\"]))\n";
    let answer = author.call("check", json!({"files": {"policy.star": params}})).await;
    assert!(
        answer.raw.contains("params: ") && answer.raw.contains("hidden") && answer.raw.contains("plain"),
        "{}",
        answer.raw
    );
    assert!(!answer.raw.contains(KEY), "{}", answer.raw);
    for load in ["load(\"//.env\", \"KEY\")", "load(\"key.pem\", \"KEY\")", "load(\"//proxy.yaml\", \"KEY\")"] {
        let answer = author.call("check", json!({"files": {"policy.star": load}})).await;
        assert!(answer.raw.contains("cannot load"), "{}", answer.raw);
        assert!(!answer.raw.contains(KEY), "{}", answer.raw);
    }
    for (tool, arguments) in [("catalog", json!({})), ("explain", json!({})), ("check", json!({}))] {
        let answer = author.call(tool, arguments).await;
        assert_eq!(answer.value()["result"]["isError"], false, "{}", answer.raw);
        assert!(!answer.raw.contains(KEY), "{}", answer.raw);
    }
    assert!(!author.has("ran"), "no command of the config runs");
}

#[tokio::test]
async fn a_config_that_does_not_load_is_told_without_its_keys() {
    let world = world().await;
    let text = format!("mcpServers:\n  a: {{command: x, env: {{K: \"{KEY}\"}}, unknown: 1}}\n");
    std::fs::write(world.directory.path().join("proxy.yaml"), text).unwrap();
    let mut author = Author::start(world).await;
    let failure = author.failure("check", Value::Object(Default::default())).await;
    assert!(failure.contains("unknown key `mcpServers.a.unknown`") && !failure.contains(KEY), "{failure}");
    assert!(failure.contains("--> proxy.yaml:2"), "{failure}");
}
