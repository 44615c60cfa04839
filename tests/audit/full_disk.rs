//! A log that cannot be written.

use super::{calls, lines_until, parsed, text, world};
use crate::support::programs;
use crate::support::proxy::{Proxy, StdioProxy};

/// A proxy whose files may have a few hundred KiB. The signal that goes with the limit is ignored, so that it is an error
/// like any other.
fn limited(keys: &str) -> Proxy {
    let program = programs::proxy();
    let program = program.get_program().to_string_lossy().into_owned();
    world(keys).stand_in(&format!("trap '' XFSZ; ulimit -f 400; exec '{program}' \"$@\"\n"))
}

/// Arguments of which a few fill the disk.
fn large() -> String {
    format!(r#"{{"text":"{}"}}"#, "x".repeat(20_000))
}

/// Waits until this many calls are in the log, or cannot be: what waits in memory must fit into the next file.
async fn written_or_failed(proxy: &StdioProxy, made: usize) {
    let log = proxy.client.stderr().clone();
    let failed = || log.text().contains("cannot write the audit log");
    lines_until(&proxy.world, "audit.jsonl", &log, |lines| calls(lines) == made || failed()).await;
}

/// Moves the full log away, which makes room for another.
fn move_away(proxy: &StdioProxy) {
    let folder = proxy.world.directory.path().join("logs");
    std::fs::rename(folder.join("audit.jsonl"), folder.join("full.jsonl")).expect("it is there");
}

#[tokio::test]
async fn a_required_log_that_cannot_be_written_refuses_calls_until_it_can() {
    let mut proxy = limited("required: true, arguments: full").stdio();
    proxy.client.initialize("2025-11-25").await.result();
    let large = large();
    let mut answers = 0;
    let refused = loop {
        let answer = proxy.client.call("echo", &large).await;
        if answer.value()["result"]["isError"] == true {
            break answer.text();
        }
        answers += 1;
        assert!(answers < 1000, "it is never refused");
        written_or_failed(&proxy, answers).await;
    };
    assert!(refused.starts_with("the audit log cannot be written: File too large"), "{refused}");
    let prompt = proxy.client.request("prompts/get", r#"{"name":"greet","arguments":{"who":"ann"}}"#).await;
    assert!(prompt.error_message().starts_with("the audit log cannot be written"), "{}", prompt.raw);
    // Lists are not audited.
    assert_eq!(proxy.tools().await, ["echo", "noted"]);

    move_away(&proxy);
    proxy.client.call_until_it_works("echo", "{}").await;
    let log = proxy.client.stderr().clone();
    lines_until(&proxy.world, "audit.jsonl", &log, |lines| lines.iter().any(|line| line["outcome"] == "success")).await;
    proxy.client.finish().await;
    let lines = parsed(&(text(&proxy.world, "full.jsonl") + &text(&proxy.world, "audit.jsonl")));
    assert!(lines.iter().any(|line| line["type"] == "log_gap"), "the log says that it could not be written");
    let refusal = lines.iter().find(|line| line["policy"]["by"] == "audit").expect("the refusal is in the log");
    assert_eq!(refusal["outcome"], "denied");
    proxy.world.run(["audit", "verify", "logs/full.jsonl", "logs/audit.jsonl"]).await.expect(0);
}

#[tokio::test]
async fn calls_go_on_without_a_log_that_is_not_required() {
    let mut proxy = limited("arguments: full").stdio();
    proxy.client.initialize("2025-11-25").await.result();
    let (log, large) = (proxy.client.stderr().clone(), large());
    let mut made = 0;
    while !log.text().contains("cannot write the audit log") {
        assert_ne!(proxy.client.call("echo", &large).await.value()["result"]["isError"], true);
        made += 1;
        assert!(made < 1000, "it can always be written");
        written_or_failed(&proxy, made).await;
    }
    for _ in 0..3 {
        assert_ne!(proxy.client.call("echo", "{}").await.value()["result"]["isError"], true);
    }
    assert_eq!(log.text().matches("cannot write").count(), 1, "it is said once, not for each call");
    // What could not be written is kept for when it can.
    move_away(&proxy);
    log.line("can be written again").await;
    let full = calls(&parsed(&text(&proxy.world, "full.jsonl")));
    lines_until(&proxy.world, "audit.jsonl", &log, |lines| full + calls(lines) == made + 3).await;
}

#[tokio::test]
async fn a_required_log_that_cannot_be_opened_ends_the_start() {
    let world = world("required: true").file("logs", "a file where a folder should be");
    let failed = world.run(["serve", "--config", "proxy.yaml"]).await.expect(1);
    assert!(failed.stderr.contains("cannot write the audit log"), "{}", failed.stderr);
    assert!(failed.stderr.contains("hint: make the file writable"), "{}", failed.stderr);
}
