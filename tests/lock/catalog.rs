//! The lock as a catalog: servers that were never started on this machine.

use serde_json::json;

use super::{Changing, read_note};
use crate::support::config::Config;
use crate::support::lsp_client::LspClient;
use crate::support::proxy::Proxy;

const SCRIPT: &str = r#"
for meta, call in backends()["fake"].tools():
    if meta.name == "read_note":
        publish(meta.replace(name = "diary"), call)
"#;

/// A machine with a config, a script and the lock of somebody else, that has never seen the server, which is gone.
async fn fresh_machine() -> Proxy {
    let server = Changing::listing(json!([read_note("Reads a note.", json!({}))])).await;
    let config = Config::new().remote("fake", &server.url).section("sessionInit: {scriptFile: policy.star}");
    let theirs = Proxy::new(&config).file("policy.star", SCRIPT);
    theirs.run(["lock", "--yes"]).await.expect(0);
    let lock = std::fs::read_to_string(theirs.directory.path().join("proxy.lock")).expect("there is a lock");
    Proxy::new(&config).file("policy.star", SCRIPT).file("proxy.lock", &lock)
}

#[tokio::test]
async fn a_test_of_the_script_is_written_from_the_lock_and_passes() {
    let machine = fresh_machine().await;
    machine.run(["new", "test", "policy", "--folder", "."]).await.expect(0);
    let test = std::fs::read_to_string(machine.directory.path().join("policy_test.star")).expect("it was written");
    for part in [r#"testing.tool("read_note")"#, r#"published = ["diary"]"#] {
        assert!(test.contains(part), "{part}: {test}");
    }
    let ran = machine.run(["test"]).await.expect(0);
    assert!(ran.stdout.contains("1 test, all passed"), "{}", ran.stdout);
    // Without the lock, nothing is known of the server.
    std::fs::remove_file(machine.directory.path().join("proxy.lock")).expect("there is a lock");
    std::fs::remove_file(machine.directory.path().join("policy_test.star")).expect("there is a test");
    machine.run(["new", "test", "policy", "--folder", "."]).await.expect(0);
    let test = std::fs::read_to_string(machine.directory.path().join("policy_test.star")).expect("it was written");
    assert!(!test.contains("read_note"), "{test}");
}

#[tokio::test]
async fn an_editor_knows_the_tools_in_the_lock() {
    let machine = fresh_machine().await;
    let mut editor = LspClient::start(machine.command(["lsp"]));
    let root = format!("file://{}", machine.directory.path().display());
    editor.initialize(&root).await;
    let uri = format!("{root}/policy.star");
    // Their names are offered and explained.
    let text = "if meta.name == \"read_n";
    editor.open(&uri, text).await;
    let offered = editor.at("textDocument/completion", &uri, text, text).await;
    assert_eq!(offered[0]["label"], "read_note", "{offered}");
    let text = "x = \"read_note\"\n";
    editor.change(&uri, 2, text).await;
    let hover = editor.at("textDocument/hover", &uri, text, "\"read").await;
    let shown = hover["contents"]["value"].as_str().unwrap_or_default();
    assert!(shown.contains("tool of `fake`") && shown.contains("Reads a note."), "{hover}");
    // A script that runs on them has no errors, and one that wants another one has.
    let tools = "tools = {meta.name: (meta, call) for meta, call in backends()[\"fake\"].tools()}\n";
    editor.change(&uri, 3, &format!("{tools}publish(*tools[\"read_note\"])\n")).await;
    assert_eq!(editor.diagnostics(3).await, [] as [serde_json::Value; 0]);
    editor.change(&uri, 4, &format!("{tools}publish(*tools[\"red_note\"])\n")).await;
    let found = editor.diagnostics(4).await;
    assert!(found[0]["message"].as_str().is_some_and(|message| message.contains("red_note")), "{found:?}");
    assert_eq!(found[0]["range"]["start"]["line"], 1, "{found:?}");
}

#[tokio::test]
async fn commands_know_the_tools_of_a_server_that_was_never_started_here() {
    let server = Changing::listing(json!([read_note("Reads a note.", json!({}))])).await;
    let world = server.locked("").await;
    // Locking leaves nothing behind but the lock.
    drop(server);
    let tools = world.run(["list-tools", "--json"]).await.expect(0).json();
    assert_eq!(tools[1]["tool"]["description"], "Reads a note.");
    assert!(world.run(["types"]).await.expect(0).stdout.contains("read_note"));
    assert!(world.run(["find", "note"]).await.expect(0).stdout.contains("read_note"));
    let explained = world.run(["explain", "read_note"]).await.expect(0).stdout;
    assert!(explained.contains("offered by fake"), "{explained}");
    world.run(["check"]).await.expect(0);
}

#[tokio::test]
async fn clients_see_the_approved_tools_of_a_server_that_is_down() {
    let server = Changing::listing(json!([read_note("Reads a note.", json!({}))])).await;
    let world = server.locked("").await;
    drop(server);
    let proxy = world.http().await;
    let mut client = super::session(&proxy).await;
    assert_eq!(client.request("tools/list", "{}").await.tool_names(), ["notify", "read_note"]);
    let called = client.call("read_note", r#"{"day":"today"}"#).await;
    assert!(called.text().contains("server `fake` is not available"), "{}", called.raw);
}
