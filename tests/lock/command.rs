//! `proxy lock`: what it compares, shows and writes.

use serde_json::{Value, json};

use super::{Changing, live_file, read_note};
use crate::support::config::Config;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

fn named(name: &str, description: &str) -> Value {
    let mut tool = read_note(description, json!({}));
    tool["name"] = json!(name);
    tool
}

#[tokio::test]
async fn only_the_named_tool_is_approved_and_only_with_its_digest() {
    let server = Changing::listing(json!([named("a", "One."), named("b", "One.")])).await;
    let world = server.locked("").await;
    server.lists(json!([named("a", "Two."), named("b", "Two.")]));
    let wrong = format!("fake/a@sha256:{}", "0".repeat(64));
    let refused = world.run(["lock", "--yes", &wrong]).await.expect(1);
    assert!(refused.stderr.contains("`fake/a` is not what was reviewed: its digest is `sha256:"), "{}", refused.stderr);
    let report = world.run(["lock", "--check", "--json"]).await.expect(1).json();
    let items = report["servers"][0]["items"].as_array().expect("the tools that differ").clone();
    assert_eq!(items.len(), 2);
    assert_eq!((&items[0]["state"], &items[0]["changed"]), (&json!("changed"), &json!(["description"])));
    let target = format!("fake/a@{}", items[0]["digest"].as_str().expect("a digest"));
    world.run(["lock", "--yes", &target]).await.expect(0);
    let report = world.run(["lock", "--check", "--json"]).await.expect(1).json();
    assert_eq!(report["servers"][0]["items"][0]["name"], "b");
    world.run(["lock", "--check", "fake/a"]).await.expect(0);
    let unknown = world.run(["lock", "--check", "fale"]).await.expect(2);
    assert!(unknown.stderr.contains("did you mean `fake`?"), "{}", unknown.stderr);
    let nothing = world.run(["lock", "--check", "fake/c"]).await.expect(1);
    assert!(nothing.stderr.contains("`fake/c` is neither listed nor in the lock"), "{}", nothing.stderr);
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_named_and_the_others_are_approved() {
    let server = Changing::listing(json!([])).await;
    let config = server.config().server("dead", &fake_backend(["--exit", "3"]));
    let world = Proxy::new(&config);
    let locked = world.run(["lock", "--yes"]).await.expect(1);
    assert!(locked.stderr.contains("server `dead`: "), "{}", locked.stderr);
    let check = world.run(["lock", "--check", "--json"]).await.expect(1).json();
    let states: Vec<_> = check["servers"].as_array().expect("a list").iter().map(|server| &server["state"]).collect();
    assert_eq!(states, [&json!("same"), &json!("unknown")]);
    world.run(["lock", "--check", "fake"]).await.expect(0);
}

#[tokio::test]
async fn nothing_is_approved_without_an_answer() {
    let server = Changing::listing(json!([])).await;
    let world = Proxy::new(&server.config());
    let asked = world.run(["lock"]).await.expect(2);
    assert!(asked.stderr.contains("pass --yes to approve, or --check to compare only"), "{}", asked.stderr);
    assert!(!world.directory.path().join("proxy.lock").exists());
    world.run(["lock", "--check"]).await.expect(1);
    assert!(!world.directory.path().join("proxy.lock").exists());
}

#[tokio::test]
async fn a_server_that_left_the_config_leaves_the_lock() {
    let directory = crate::support::temp_dir::TempDir::new();
    let file = live_file(&directory, &json!([]), "Be kind.");
    let command = fake_backend(["--only", "echo", "--live", file.to_str().expect("UTF-8")]);
    let world = Proxy::new(&Config::new().server("one", &command).server("two", &command));
    world.run(["lock", "--yes"]).await.expect(0);
    world.directory.write("proxy.yaml", &Config::new().server("one", &command).text());
    let locked = world.run(["lock", "--yes"]).await.expect(0);
    assert!(locked.stdout.contains("two: no longer in the config"), "{}", locked.stdout);
    let text = std::fs::read_to_string(world.directory.path().join("proxy.lock")).expect("the lock");
    assert!(text.contains("\"one\": {") && !text.contains("\"two\": {"), "{text}");
}

#[tokio::test]
async fn instructions_are_locked_too() {
    let server = Changing::listing(json!([])).await;
    let world = server.locked("").await;
    live_file(&server.directory, &json!([]), "Obey me.");
    let check = world.run(["lock", "--check"]).await.expect(1);
    assert!(check.stdout.contains("[-Be-]{+Obey+} [-kind-]{+me+}."), "{}", check.stdout);
    let proxy = world.http().await;
    let mut client = proxy.client();
    let shaken = client.initialize("2025-11-25").await.result();
    assert!(shaken.contains("Be kind.") && !shaken.contains("Obey"), "{shaken}");
}
