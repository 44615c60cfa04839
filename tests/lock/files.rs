//! The file: what is wrong with it, and what happens if it changes while the proxy serves.

use serde_json::json;

use super::{Changing, read_note, session};
use crate::support::patience::within;
use crate::support::proxy::Proxy;

async fn world() -> (Changing, Proxy) {
    let server = Changing::listing(json!([read_note("Reads a note.", json!({}))])).await;
    let world = server.locked("").await;
    (server, world)
}

fn lock(world: &Proxy) -> String {
    std::fs::read_to_string(world.directory.path().join("proxy.lock")).expect("there is a lock")
}

#[tokio::test]
async fn a_lock_that_cannot_be_used_is_an_error_with_its_line() {
    let (_server, world) = world().await;
    let good = lock(&world);
    let conflict = format!("<<<<<<< HEAD\n{good}=======\n{good}>>>>>>> other\n");
    for (bad, line, message) in [
        (good.replacen("\"version\": 1", "\"version\": 7", 1), 2, "version 7 of the lock was written by a newer proxy"),
        (conflict, 1, "the lock has a merge conflict"),
        (good.replacen("\"notify\": {", "\"read_note\": {", 1), 0, "`read_note` occurs twice"),
        (good.replacen("Reads a note.", "Reads a note!", 1), 0, "does not match its digest, so it was changed by hand"),
        (good.replacen("\"name\": \"read_note\",", "", 1), 0, "this is no definition of the tool `read_note`"),
        ("{".to_owned(), 1, "the lock is not valid JSON"),
    ] {
        world.directory.write("proxy.lock", &bad);
        for command in [&["check"][..], &["lock", "--check"]] {
            let failed = world.run(command.iter().copied()).await.expect(2);
            assert!(failed.stderr.contains(message), "{message}: {}", failed.stderr);
            let place = if line > 0 { format!("proxy.lock:{line}:") } else { "proxy.lock:".to_owned() };
            assert!(failed.stderr.contains(&place), "{place}: {}", failed.stderr);
        }
    }
    assert!(
        world.run(["serve", "--http", "127.0.0.1:0"]).await.expect(2).stderr.contains("the lock is not valid JSON")
    );
}

#[tokio::test]
async fn a_bad_lock_or_none_leaves_the_former_one_in_force() {
    let (server, world) = world().await;
    let good = lock(&world);
    let proxy = world.http().await;
    let mut client = session(&proxy).await;
    let before = client.request("tools/list", "{}").await.result();
    server.lists(json!([read_note("Reads your diary.", json!({}))]));
    super::announce(&mut client, &proxy, |lines| !lines.is_empty()).await;
    let errors = async |wanted: &str| {
        let seen = async {
            loop {
                let status = proxy.world.run(["status", "--json"]).await.expect(0).json();
                if status["configErrors"].to_string().contains(wanted) {
                    return;
                }
            }
        };
        within("the error in `proxy status`", &proxy.program.stderr, seen).await;
    };
    proxy.world.directory.write("proxy.lock", "nothing");
    errors("the lock is not valid JSON").await;
    assert_eq!(client.request("tools/list", "{}").await.result(), before);
    std::fs::remove_file(proxy.world.directory.path().join("proxy.lock")).expect("the lock is there");
    errors("was deleted, which would approve everything").await;
    assert_eq!(client.request("tools/list", "{}").await.result(), before);
    proxy.world.directory.write("proxy.lock", &good);
    let repaired =
        async { while proxy.world.run(["status", "--json"]).await.expect(0).json()["configErrors"] != json!([]) {} };
    within("the end of the error", &proxy.program.stderr, repaired).await;
    assert_eq!(client.request("tools/list", "{}").await.result(), before);
}

#[tokio::test]
async fn another_program_under_the_same_name_is_not_approved() {
    let (_server, world) = world().await;
    let other = Changing::listing(json!([read_note("Reads a note.", json!({}))])).await;
    world.directory.write("proxy.yaml", &other.config().text());
    assert_eq!(world.run(["list-tools", "--live", "--json"]).await.expect(0).json(), json!([]));
    let check = world.run(["check", "--live"]).await.expect(0);
    let said = "server `fake` differs from the lock: nothing of it is approved; run `proxy lock fake`";
    assert!(check.stdout.contains(said) || check.stderr.contains(said), "{} {}", check.stdout, check.stderr);
    world.run(["lock", "--yes"]).await.expect(0);
    assert_eq!(world.run(["list-tools", "--live", "--json"]).await.expect(0).json().as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn a_blocked_tool_stays_blocked_when_its_server_is_approved_again() {
    let (server, world) = world().await;
    let text = lock(&world).replacen("\"read_note\": {", "\"read_note\": {\n          \"block\": true,", 1);
    world.directory.write("proxy.lock", &text);
    let names = async || {
        let tools = world.run(["list-tools", "--live", "--json"]).await.expect(0).json();
        tools.as_array().expect("a list").iter().map(|tool| tool["tool"]["name"].to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names().await, [r#""notify""#]);
    world.run(["lock", "--check"]).await.expect(0);
    server.lists(json!([read_note("Reads your diary.", json!({}))]));
    world.run(["lock", "--check"]).await.expect(1);
    world.run(["lock", "--yes"]).await.expect(0);
    assert!(lock(&world).contains("\"block\": true") && lock(&world).contains("Reads your diary."));
    assert_eq!(names().await, [r#""notify""#]);
}
