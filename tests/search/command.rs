//! `proxy find`.

use serde_json::json;

use super::{OPTIMIZED, desk, started, world};

#[tokio::test]
async fn find_shows_scores_and_why() {
    for sections in [OPTIMIZED, ""] {
        let proxy = world(&desk(), sections);
        let found = proxy.run(["find", "--words", "open", "a ticket for the tracker"]).await.expect(0);
        let lines: Vec<&str> = found.stdout.lines().collect();
        assert_eq!(
            lines[0].split_whitespace().collect::<Vec<_>>(),
            ["SCORE", "TOOL", "SERVER", "MATCHED", "DESCRIPTION"]
        );
        let cells: Vec<&str> = lines[1].split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        assert!(cells[0].parse::<f64>().is_ok_and(|score| score > 0.0), "{}", lines[1]);
        assert_eq!(cells[1..3], ["create_ticket", "desk"]);
        let mut matched: Vec<&str> = cells[3].split(' ').collect();
        matched.sort_unstable();
        assert_eq!(matched, ["open", "ticket", "tracker"]);
    }
}

#[tokio::test]
async fn find_prints_json_and_says_when_there_is_nothing() {
    let proxy = world(&desk(), OPTIMIZED);
    let found = proxy.run(["find", "--json", "--limit", "1", "emails"]).await.expect(0).json();
    assert_eq!(found.as_array().map(Vec::len), Some(1), "{found}");
    assert_eq!((&found[0]["server"], &found[0]["tool"]), (&json!("desk"), &desk()[1]));
    assert_eq!(found[0]["matched"], json!(["emails"]));
    assert!(found[0]["score"].as_f64().is_some_and(|score| score > 0.0), "{found}");
    let nothing = proxy.run(["find", "quxify"]).await.expect(1);
    assert!(nothing.stderr.contains("no match among 5 tools"), "{}", nothing.stderr);
    assert_eq!(proxy.run(["find", "quxify", "--json"]).await.expect(0).json(), json!([]));
    proxy.run(["find"]).await.expect(2);
}

#[tokio::test]
async fn an_evaluation_says_which_expected_tools_are_not_published() {
    // Given queries that were written before two tools were renamed
    let queries = [
        json!({"query": "open a ticket", "tool": "create_ticket"}),
        json!({"query": "send an email", "tools": ["sendEmail", "mail"]}),
        json!({"query": "tickets", "tool": "ticket_create"}),
    ];
    let lines: Vec<String> = queries.iter().map(ToString::to_string).collect();
    let proxy = world(&desk(), OPTIMIZED).file("queries.jsonl", &lines.join("\n\n"));
    // When they are evaluated by the command itself, and by a running proxy
    let alone = proxy.run(["find", "--eval", "queries.jsonl", "--json"]).await.expect(0);
    let serving = started(proxy).await;
    let running = serving.world.run(["find", "--eval", "queries.jsonl", "--json"]).await.expect(0);
    for told in [&alone, &running] {
        // Then a warning says so, and both count as missed
        let warning = "warning: 2 of 3 lines expect tools that are not published: `mail`, `ticket_create`";
        assert!(told.stderr.contains(warning), "{}", told.stderr);
        let measured = told.json();
        let unpublished = json!([{"line": 3, "tools": ["mail"]}, {"line": 5, "tools": ["ticket_create"]}]);
        assert_eq!(measured["unpublished"], unpublished, "{measured}");
        let recall = measured["recall@10"].as_f64().unwrap_or_default();
        assert!((recall - 50.0).abs() < 0.1, "{measured}");
    }
    let text = serving.world.run(["find", "--eval", "queries.jsonl"]).await.expect(0).stdout;
    assert!(text.contains("wanted: ticket_create (not published)"), "{text}");
    serving.world.directory.write("queries.jsonl", &lines[0]);
    let right = serving.world.run(["find", "--eval", "queries.jsonl"]).await.expect(0);
    assert!(!right.stderr.contains("not published"), "{}", right.stderr);
}
