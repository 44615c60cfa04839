//! The lock as a catalog: servers that were never started on this machine.

use serde_json::json;

use super::{Changing, read_note};

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
