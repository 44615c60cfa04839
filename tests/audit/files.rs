//! The files of a log: rotated, moved away by others, written by several processes.

use super::{calls, files, lines_until, world};

#[tokio::test]
async fn a_full_file_is_followed_by_another_and_the_chain_goes_on() {
    let mut proxy = world("maxSize: 1KiB, keep: 2").stdio();
    proxy.client.initialize("2025-11-25").await.result();
    for _ in 0..8 {
        proxy.client.call("echo", "{}").await.result();
    }
    proxy.client.finish().await;
    let names = files(&proxy.world);
    assert_eq!(names.len(), 3, "two full ones are kept: {names:?}");
    let paths: Vec<String> = names.iter().map(|name| format!("logs/{name}")).collect();
    let verify = ["audit", "verify"].into_iter().chain(paths.iter().map(String::as_str));
    let found = proxy.world.run(verify).await.expect(0).stdout;
    assert!(found.contains("earlier files were not checked"), "{found}");
}

#[tokio::test]
async fn a_file_that_is_moved_away_is_opened_again() {
    let mut proxy = world("").stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy.client.call("echo", "{}").await.result();
    let log = proxy.client.stderr().clone();
    lines_until(&proxy.world, "audit.jsonl", &log, |lines| calls(lines) == 1).await;
    let folder = proxy.world.directory.path().join("logs");
    std::fs::rename(folder.join("audit.jsonl"), folder.join("old.jsonl")).expect("it is there");
    proxy.client.program.hang_up();
    proxy.client.call("echo", "{}").await.result();
    let lines = lines_until(&proxy.world, "audit.jsonl", &log, |lines| calls(lines) == 1).await;
    assert_eq!((&lines[0]["type"], &lines[0]["why"]), (&"log_opened".into(), &"reopened".into()));

    // The status names the end, which somebody can note elsewhere.
    let status = proxy.world.run(["status", "--json"]).await.expect(0).json();
    let audit = &status["audit"];
    assert!(audit["file"].as_str().is_some_and(|file| file.ends_with("logs/audit.jsonl")), "{audit}");
    assert_eq!((&audit["seq"], &audit["error"]), (&lines.last().expect("a line")["seq"], &serde_json::Value::Null));
    let head = audit["head"].as_str().expect("a hash").to_owned();
    let shown = proxy.world.run(["status"]).await.expect(0).stdout;
    assert!(shown.contains(&head), "{shown}");
    proxy.client.call("echo", "{}").await.result();
    proxy.client.finish().await;
    let verify = ["audit", "verify", "logs/audit.jsonl", "logs/old.jsonl", "--head", &head];
    let found = proxy.world.run(verify).await.expect(0).stdout;
    assert!(found.contains("sealed up to seq"), "{found}");
}

#[tokio::test]
async fn a_second_process_writes_a_file_of_its_own() {
    let mut proxy = world("").stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy.client.call("echo", "{}").await.result();
    let own = proxy.world.run(["call", "echo", "--live", "--log", "warn"]).await.expect(0);
    assert!(own.stderr.contains("another process is writing the audit log"), "{}", own.stderr);
    assert_eq!(files(&proxy.world), ["audit.1.jsonl", "audit.jsonl"]);
    proxy.world.run(["audit", "verify", "logs/audit.1.jsonl"]).await.expect(0);
    // A command that asks the running proxy is in its log.
    proxy.world.run(["call", "echo"]).await.expect(0);
    let log = proxy.client.stderr().clone();
    let lines = lines_until(&proxy.world, "audit.jsonl", &log, |lines| calls(lines) == 2).await;
    assert_eq!(lines.last().map(|line| &line["source"]["type"]), Some(&"control".into()));
}
