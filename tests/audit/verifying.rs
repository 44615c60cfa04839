//! `proxy audit verify`.

use super::{text, world};
use crate::support::proxy::Proxy;

/// A log of two processes, and its text.
async fn written() -> (Proxy, String) {
    let world = world("");
    for _ in 0..2 {
        world.run(["call", "echo", "a=1"]).await.expect(0);
    }
    let text = text(&world, "audit.jsonl");
    assert_eq!(text.lines().count(), 6, "each process opens the log, calls and seals:\n{text}");
    (world, text)
}

#[tokio::test]
async fn an_auditor_learns_what_is_intact_and_where_it_is_not() {
    let (world, text) = written().await;
    let verify = ["audit", "verify", "logs/audit.jsonl"];
    let intact = world.run(verify).await.expect(0).stdout;
    assert!(
        intact.starts_with("intact up to seq 6; the tail is only as safe as the last seal\nhead: sha256:"),
        "{intact}"
    );
    assert!(intact.contains("sealed up to seq 6"), "{intact}");
    let head = world.run(verify.into_iter().chain(["--json"])).await.expect(0).json()["head"].clone();
    let head = head.as_str().expect("a hash");

    let lines: Vec<&str> = text.lines().collect();
    let changed = text.replacen("\"success\"", "\"succesS\"", 1);
    let removed = [&lines[..2], &lines[3..]].concat().join("\n") + "\n";
    let cut = lines[..5].join("\n") + "\n";
    for (text, more, problem) in [
        (&changed, None, "logs/audit.jsonl:2: seq 2 was changed"),
        (&removed, None, "logs/audit.jsonl:3: seq 3 is missing"),
        (&cut, Some(head), "logs/audit.jsonl:5: no line has the given head: the lines after seq 5 are missing"),
    ] {
        world.directory.write("logs/audit.jsonl", text);
        let head = more.into_iter().flat_map(|head| ["--head", head]);
        let found = world.run(verify.into_iter().chain(head)).await.expect(1);
        assert!(found.stderr.contains(problem), "{}", found.stderr);
    }
    let fault = world.run(verify.into_iter().chain(["--json", "--head", head])).await.expect(1).json();
    assert_eq!((&fault["intact"], &fault["line"]), (&false.into(), &5.into()));
    // Without the head, nobody knows of what was cut off.
    world.run(verify).await.expect(0);
}

#[tokio::test]
async fn without_the_key_seals_are_not_checked_and_that_is_said() {
    let (world, _) = written().await;
    world.directory.write("proxy.yaml", "");
    let verify = ["audit", "verify", "logs/audit.jsonl"];
    let found = world.run(verify).await.expect(0).stdout;
    assert!(found.contains("seals were not checked: there is no key"), "{found}");
    let named = world.run(verify.into_iter().chain(["-c", "proxy.yaml"])).await.expect(2).stderr;
    assert!(named.contains("`proxy.yaml` has no `audit.key`"), "{named}");
    let other = world.environment("PROXY_AUDIT_KEY", "another key");
    let found = other.run(verify).await.expect(0).stdout;
    assert!(found.contains("there is no seal of this key") && found.contains("2 seals of other keys"), "{found}");
    let usage = other.run(verify.into_iter().chain(["--head", "abc"])).await.expect(2).stderr;
    assert!(usage.contains("--head must be a hash"), "{usage}");
}
