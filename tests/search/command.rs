//! `proxy find`.

use serde_json::json;

use super::{OPTIMIZED, desk, world};

#[tokio::test]
async fn find_shows_scores_and_why() {
    for sections in [OPTIMIZED, ""] {
        let proxy = world(&desk(), sections);
        let found = proxy.run(["find", "open", "a ticket for the tracker"]).await.expect(0);
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
