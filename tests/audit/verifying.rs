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
    assert_eq!(text.lines().count(), 8, "each process opens the log, publishes, calls and seals:\n{text}");
    (world, text)
}

#[tokio::test]
async fn an_auditor_learns_what_is_intact_and_where_it_is_not() {
    let (world, text) = written().await;
    let verify = ["audit", "verify", "logs/audit.jsonl"];
    let intact = world.run(verify).await.expect(0).stdout;
    assert!(
        intact.starts_with("intact up to seq 8; lines after the last seal are not protected\nhead: sha256:"),
        "{intact}"
    );
    assert!(intact.contains("sealed up to seq 8"), "{intact}");
    let head = world.run(verify.into_iter().chain(["--json"])).await.expect(0).json()["head"].clone();
    let head = head.as_str().expect("a hash");

    let lines: Vec<&str> = text.lines().collect();
    let changed = text.replacen("\"success\"", "\"succesS\"", 1);
    let removed = [&lines[..2], &lines[3..]].concat().join("\n") + "\n";
    let cut = lines[..7].join("\n") + "\n";
    for (text, more, problem) in [
        (&changed, None, "logs/audit.jsonl:3: seq 3 was changed"),
        (&removed, None, "logs/audit.jsonl:3: seq 3 is missing"),
        (&cut, Some(head), "logs/audit.jsonl:7: no line has the given head: the lines after seq 7 are missing"),
    ] {
        world.directory.write("logs/audit.jsonl", text);
        let head = more.into_iter().flat_map(|head| ["--head", head]);
        let found = world.run(verify.into_iter().chain(head)).await.expect(1);
        assert!(found.stderr.contains(problem), "{}", found.stderr);
    }
    let fault = world.run(verify.into_iter().chain(["--json", "--head", head])).await.expect(1).json();
    assert_eq!((&fault["intact"], &fault["line"]), (&false.into(), &7.into()));
    // Without the head, nobody knows of what was cut off.
    world.run(verify).await.expect(0);
}

#[tokio::test]
async fn without_the_key_seals_are_not_checked_and_that_is_said() {
    let (world, _) = written().await;
    let verify = ["audit", "verify", "logs/audit.jsonl"];
    world.directory.write("proxy.yaml", "audit: { file: logs/audit.jsonl, key: \"${UNSET_KEY}\" }\n");
    let unknown = world.run(verify).await.expect(2).stderr;
    assert!(unknown.contains("`UNSET_KEY` is not set") && unknown.contains("--allow-unsealed"), "{unknown}");
    let found = world.run(verify.into_iter().chain(["--allow-unsealed"])).await.expect(0).stdout;
    assert!(found.contains("seals were not checked"), "{found}");
    world.directory.write("proxy.yaml", "serve: { maxSessions: 10 }\n");
    let found = world.run(verify).await.expect(0).stdout;
    assert!(found.contains("seals were not checked: there is no key"), "{found}");
    let named = world.run(verify.into_iter().chain(["-c", "proxy.yaml"])).await.expect(2).stderr;
    assert!(named.contains("`proxy.yaml` has no `audit.key`"), "{named}");
    let other = world.environment("PROXY_AUDIT_KEY", "another key");
    let refused = other.run(verify).await.expect(1);
    assert!(refused.stderr.contains("there is no seal by this key"), "{}", refused.stderr);
    let found = other.run(verify.into_iter().chain(["--allow-unsealed"])).await.expect(0).stdout;
    assert!(found.contains("there is no seal by this key") && found.contains("2 seals from other keys"), "{found}");
    let usage = other.run(verify.into_iter().chain(["--head", "abc"])).await.expect(2).stderr;
    assert!(usage.contains("--head must be a hash"), "{usage}");
}

/// The lines of a log, each with the time of another day.
fn aged(text: &str) -> String {
    let day = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
    text.replace(&day, "2020-01-01")
}

/// A log whose chain is right, but without the key: what somebody makes who can write the file.
fn made_anew(text: &str, without_seals: bool) -> String {
    use sha2::{Digest, Sha256};
    let (mut made, mut head, mut seq) = (String::new(), serde_json::Value::Null, 0);
    for line in text.lines() {
        let mut line: serde_json::Value = serde_json::from_str(line).expect("a line");
        if without_seals && line["type"] == "seal" {
            continue;
        }
        seq += 1;
        (line["seq"], line["prev"]) = (seq.into(), head);
        let text = line.to_string();
        let digest: String = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
        head = format!("sha256:{digest}").into();
        made += &format!("{text}\n");
    }
    made
}

#[tokio::test]
async fn a_log_without_its_seals_does_not_pass_for_one_with_them() {
    let (world, text) = written().await;
    let verify = ["audit", "verify", "logs/audit.jsonl"];
    let check = async |text: &str| {
        world.directory.write("logs/audit.jsonl", text);
        world.run(verify).await
    };
    let removed = check(&made_anew(&text, true)).await.expect(1);
    assert!(removed.stderr.contains("there is no seal by this key"), "{}", removed.stderr);
    let kept = check(&made_anew(&text, false)).await.expect(0);
    assert!(kept.stdout.contains("sealed up to seq 8"), "the text is the same: {}", kept.stdout);
    // The last seal is older than what follows it.
    let lines: Vec<&str> = text.lines().collect();
    let tail = made_anew(&(lines[..4].join("\n") + "\n" + &aged(&lines[4..7].join("\n")) + "\n"), false);
    let found = check(&tail).await.expect(1);
    assert!(found.stderr.contains("the lines after seq 4 have no seal"), "{}", found.stderr);
    let json = world.run(verify.into_iter().chain(["--json"])).await.expect(1).json();
    assert!(json["intact"] == true && json["problem"].as_str().is_some_and(|text| text.contains("no seal")), "{json}");
    world.run(verify.into_iter().chain(["--allow-unsealed"])).await.expect(0);
    // What was written just now is sealed within a minute.
    let young = made_anew(&(lines[..7].join("\n") + "\n"), false);
    check(&young).await.expect(0);
}
