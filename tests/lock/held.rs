//! Changes that make the approved text wrong, and items that nobody approved.

use serde_json::json;

use super::{Changing, announce, differences, read_note, session};
use crate::support::patience::within;

const LOG: &str = "Reads a note.";

#[tokio::test]
async fn a_tool_that_needs_more_now_stays_listed_and_its_calls_say_why_they_are_refused() {
    let server = Changing::listing(json!([read_note(LOG, json!({}))])).await;
    let proxy = server.locked("").await.http().await;
    let mut client = session(&proxy).await;
    let before = client.request("tools/list", "{}").await.result();
    let schema = json!({"type": "object", "properties": {"day": {}, "key": {}}, "required": ["day", "key"]});
    server.lists(json!([read_note(LOG, json!({"inputSchema": schema}))]));
    announce(&mut client, &proxy, |lines| !lines.is_empty()).await;
    assert_eq!(differences(&proxy.world).await, ["tool `read_note` is held: `inputSchema`: it requires `key` now"]);
    assert_eq!(client.request("tools/list", "{}").await.result(), before);
    let why = "the tool `read_note` of server `fake` is held, because it differs from what was approved: `inputSchema`: \
               it requires `key` now; an operator can review it with `proxy lock fake/read_note`";
    for reply in [
        client.call("read_note", r#"{"day":"today"}"#).await,
        client.modern_call("read_note", r#"{"day":"today"}"#).await,
    ] {
        assert!(reply.raw.contains(r#""isError":true"#), "{}", reply.raw);
        assert_eq!(reply.text(), why);
    }
    let explained = proxy.world.run(["explain", "read_note"]).await.expect(0).stdout;
    assert!(explained.contains("lock: held: `inputSchema`: it requires `key` now"), "{explained}");
    let checked = proxy.world.run(["check", "--live"]).await.expect(0).stdout;
    assert!(checked.contains("forwarded; lock: held"), "{checked}");
    proxy.world.run(["lock", "fake/read_note", "--yes"]).await.expect(0);
    let approved = async {
        while client.call("read_note", r#"{"day":"today","key":"k"}"#).await.raw.contains("isError") {
            tokio::task::yield_now().await;
        }
    };
    within("the tool to be approved", &proxy.program.stderr, approved).await;
}

#[tokio::test]
async fn an_annotation_that_promises_less_holds_the_tool() {
    let with = |read_only: bool| json!([read_note(LOG, json!({"annotations": {"readOnlyHint": read_only}}))]);
    let server = Changing::listing(with(true)).await;
    let proxy = server.locked("").await.http().await;
    let mut client = session(&proxy).await;
    server.lists(with(false));
    announce(&mut client, &proxy, |lines| !lines.is_empty()).await;
    let refused = client.call("read_note", r#"{"day":"today"}"#).await.text();
    assert!(refused.contains("`annotations.readOnlyHint` was true and is false now"), "{refused}");
    let listed = client.request("tools/list", "{}").await.result();
    assert!(listed.contains(r#""readOnlyHint":true"#), "{listed}");
}

#[tokio::test]
async fn a_new_tool_is_not_there_until_somebody_approves_it() {
    let server = Changing::listing(json!([])).await;
    let proxy = server.locked("").await.http().await;
    let mut client = session(&proxy).await;
    server.lists(json!([read_note(LOG, json!({}))]));
    announce(&mut client, &proxy, |lines| lines == ["tool `read_note` is new"]).await;
    assert_eq!(client.request("tools/list", "{}").await.tool_names(), ["notify"]);
    assert!(client.call("read_note", "{}").await.error_message().contains("unknown tool"));
    let explained = proxy.world.run(["explain", "read_note"]).await.expect(0).stdout;
    assert!(explained.contains("nobody has approved it: `proxy lock fake`"), "{explained}");
    proxy.world.run(["lock", "--yes"]).await.expect(0);
    let approved = async {
        while client.request("tools/list", "{}").await.tool_names().len() == 1 {
            tokio::task::yield_now().await;
        }
    };
    within("the new tool", &proxy.program.stderr, approved).await;
}

#[tokio::test]
async fn block_holds_every_change_and_warn_none() {
    for (mode, is_refused, description) in [("block", true, LOG), ("warn", false, "Reads your diary.")] {
        let server = Changing::listing(json!([read_note(LOG, json!({}))])).await;
        let proxy = server.locked(&format!("lock: {mode}")).await.http().await;
        let mut client = session(&proxy).await;
        server.lists(json!([read_note("Reads your diary.", json!({}))]));
        announce(&mut client, &proxy, |lines| !lines.is_empty()).await;
        let listed = async {
            while !client.request("tools/list", "{}").await.result().contains(description) {
                tokio::task::yield_now().await;
            }
        };
        within("the description that belongs to the mode", &proxy.program.stderr, listed).await;
        let reply = client.call("read_note", r#"{"day":"today"}"#).await;
        assert_eq!(reply.raw.contains("isError"), is_refused, "{mode}: {}", reply.raw);
        proxy.world.run(["lock", "--check"]).await.expect(1);
    }
}

#[tokio::test]
async fn what_a_handler_calls_is_held_too_and_recorded_as_such() {
    let server = Changing::listing(json!([read_note(LOG, json!({}))])).await;
    let script = "def wrapped(call):\n    return lambda args: call(args)\n\nfor meta, call in \
                  backends()['fake'].tools():\n    publish(meta, wrapped(call) if meta.name == 'read_note' else call)\n";
    let config = crate::support::config::Config::new()
        .remote("fake", &server.url)
        .section("sessionInit: {scriptFile: policy.star}\nlock: block\naudit: {file: audit.jsonl}");
    let world = crate::support::proxy::Proxy::new(&config).file("policy.star", script);
    world.run(["lock", "--yes"]).await.expect(0);
    let proxy = world.http().await;
    let mut client = session(&proxy).await;
    server.lists(json!([read_note("Reads your diary.", json!({}))]));
    announce(&mut client, &proxy, |lines| !lines.is_empty()).await;
    let refused = client.call("read_note", r#"{"day":"today"}"#).await;
    assert!(refused.text().contains("is held, because it differs"), "{}", refused.raw);
    let log = proxy.world.directory.path().join("audit.jsonl");
    let recorded = async {
        while !std::fs::read_to_string(&log).unwrap_or_default().contains(r#""by":"lock""#) {
            tokio::task::yield_now().await;
        }
    };
    within("the refusal in the audit log", &proxy.program.stderr, recorded).await;
}
