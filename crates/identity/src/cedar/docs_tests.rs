//! The examples of `docs/guides/cedar-policies.md` decide as their tables say.

use serde_json::{Value, json};

use super::tests::{policies, tool};
use super::*;
use proxy_json::raw;
use proxy_model::{ClientInfo, Principal};

const PAGE: &str = include_str!("../../../../docs/guides/cedar-policies.md");

/// The server and the annotations of a tool of the examples.
fn facts(name: &str) -> (&'static str, Value) {
    match name {
        "search" => ("github", json!({"readOnlyHint": true})),
        "delete_repo" => ("github", json!({"destructiveHint": true})),
        "create_issue" | "list_issues" => ("github", json!({})),
        "transfer" => ("bank", json!({})),
        "my_issues" => ("", json!({})),
        other => panic!("the examples have no tool `{other}`"),
    }
}

/// `ann (eng)` is in the group `eng`. Also `ann (local)` and `ann with {"level": 3}`.
fn caller(text: &str) -> Principal {
    let (sub, rest) = text.split_once(' ').unwrap_or((text, ""));
    let in_brackets = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    match (in_brackets, rest.strip_prefix("with ")) {
        (Some("local"), _) => Principal::local(sub),
        (Some(group), _) => Principal::named(sub).with(|user| user.groups = [group.to_owned()].into()),
        (None, Some(claims)) => Principal::named(sub).with(|user| user.claims = claims.into()),
        (None, None) => Principal::named(sub),
    }
}

/// `transfer {"amount": 100}`, `list_issues via my_issues`.
fn is_allowed(policies: &Policies, who: &str, what: &str) -> bool {
    let (name, rest) = what.split_once(' ').unwrap_or((what, ""));
    let arguments: Value = if rest.starts_with('{') { serde_json::from_str(rest).unwrap() } else { json!({}) };
    let (server, annotations) = facts(name);
    let (principal, client, definition) = (caller(who), ClientInfo::default(), tool(name, annotations));
    let arguments = raw(&arguments);
    policies
        .decide(&AccessRequest {
            caller: AccessCaller { principal: &principal, client: &client },
            item: AccessItem {
                action: PolicyAction::CallTool,
                id: name,
                server,
                original: name,
                definition: Some(&definition),
            },
            arguments: Some(&arguments),
            via: rest.strip_prefix("via ").unwrap_or_default(),
        })
        .is_allowed()
}

#[test]
fn every_example_decides_as_its_table_says() {
    let examples = PAGE.split_once("\n## Examples").and_then(|(_, rest)| rest.split_once("\n## ")).unwrap().0;
    let examples: Vec<&str> = examples.split("\n### ").skip(1).collect();
    assert_eq!(examples.len(), 12);
    for example in examples {
        let text = example.split_once("```cedar\n").and_then(|(_, rest)| rest.split_once("```")).unwrap().0;
        let policies = policies(text);
        let rows: Vec<Vec<&str>> = example
            .lines()
            .filter(|line| line.ends_with("allowed |") || line.ends_with("denied |"))
            .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
            .collect();
        assert!(rows.len() >= 2, "{example}");
        for row in rows {
            let [who, what, expected] = row[..] else { panic!("{row:?}") };
            assert_eq!(is_allowed(&policies, who, what), expected == "allowed", "{text}: {row:?}");
        }
    }
    // What the page shows first loads too.
    let first = PAGE.split_once("```cedar\n").and_then(|(_, rest)| rest.split_once("```")).unwrap().0;
    assert_eq!(policies(first).len(), 2);
}
