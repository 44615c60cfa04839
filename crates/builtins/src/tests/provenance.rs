//! What a plan records of where and why the script decided what it did.

use super::*;
use crate::{Published, SkippedItem};
use proxy_script::CallSite;

fn tool_named<'a>(plan: &'a Plan, name: &str) -> &'a Published {
    plan.items.tools.iter().find(|tool| tool.definition.key() == name).unwrap()
}

fn site(tool: &Published) -> &CallSite {
    tool.site.as_ref().unwrap()
}

/// The skipped items as `server/name: why (line)`.
fn skipped(plan: &Plan) -> Vec<String> {
    let text = |skipped: &SkippedItem| {
        let SkippedItem { item, why, site } = skipped;
        format!("{}/{}: {why} ({})", item.backend, item.name, site.as_ref().unwrap())
    };
    plan.skipped.iter().map(text).collect()
}

#[test]
fn each_published_item_has_the_line_and_its_callers() {
    let plan = run("
load('@proxy//lib@1.star', 'aggregate')
def publish_all(tools):
    for meta, call in tools:
        publish(meta, call)

publish_all(aggregate(backends()))
publish(metadata('mine', '', {}, {}), lambda args: None)
")
    .unwrap();
    let lines = site(tool_named(&plan, "read")).lines();
    let shown: Vec<(String, Option<&str>)> =
        lines.iter().map(|line| (line.to_string(), line.function.as_deref())).collect();
    assert_eq!(shown, [("policy.star:5".to_owned(), Some("publish_all")), ("policy.star:7".to_owned(), None)]);
    assert_eq!(site(tool_named(&plan, "mine")).to_string(), "policy.star:8");
    // A thousand items of one loop have one record.
    let shared = site(tool_named(&plan, "create_issue")).lines();
    assert_eq!(lines.as_ptr(), shared.as_ptr());
    // `docs` has a `search` too, and the library renamed it.
    let renamed = tool_named(&plan, "docs_search");
    assert_eq!(renamed.edits.len(), 1);
    assert_eq!(*renamed.edits[0].members, ["name"]);
    let at = renamed.edits[0].site.to_string();
    assert!(at.starts_with("lib@1.star:") && at.ends_with(", called from policy.star:7"), "{at}");
    assert!(tool_named(&plan, "read").edits.is_empty());
}

#[test]
fn each_change_of_a_definition_has_its_line() {
    let plan = run("
def plain(meta):
    return meta.replace(description = 'plain', title = 'Plain')

for meta, call in backends()['docs'].tools():
    meta = plain(meta)
    publish(*bind((meta.replace(name = 'docs_' + meta.name), call), b = 1))
")
    .unwrap();
    for name in ["docs_search", "docs_read"] {
        let edits: Vec<(&[&str], String)> =
            tool_named(&plan, name).edits.iter().map(|edit| (&*edit.members, edit.site.to_string())).collect();
        let expected: [(&[&str], String); 3] = [
            (&["description", "title"], "policy.star:3, called from policy.star:6".to_owned()),
            (&["name"], "policy.star:7".to_owned()),
            (&["inputSchema"], "policy.star:7".to_owned()),
        ];
        assert_eq!(edits, expected);
    }
    assert_eq!(plan.items.tools[0].edits.as_ptr(), plan.items.tools[1].edits.as_ptr());
}

#[test]
fn a_deep_call_keeps_its_innermost_lines_and_the_outermost() {
    let mut script = "def f0(meta, call):\n    publish(meta, call)\n".to_owned();
    for depth in 1..20 {
        script.push_str(&format!("def f{depth}(meta, call):\n    f{}(meta, call)\n    len([])\n", depth - 1));
    }
    script.push_str("f19(*backends()['docs'].tools()[0])\n");
    let plan = run(&script).unwrap();
    let lines = site(&plan.items.tools[0]).lines();
    assert_eq!(lines.len(), 8);
    assert_eq!((lines[0].line, lines[0].function.as_deref()), (2, Some("f0")));
    assert_eq!((lines[7].line, lines[7].function.as_deref()), (60, None));
}

#[test]
fn the_last_reason_counts_unless_the_item_is_published() {
    let plan = run("
for backend in backends().values():
    for meta, call in backend.tools():
        skip(meta, 'first')
        if meta.name == 'search':
            skip(meta.replace(name = 'other'), 'too noisy')
        if meta.name == 'read':
            publish(meta, call)
            skip(meta, 'not any more')
skip(metadata('mine', '', {}, {}), 'of no server')
")
    .unwrap();
    assert_eq!(names(&plan), ["read"]);
    assert_eq!(
        skipped(&plan),
        [
            "github/search: too noisy (policy.star:6)",
            "github/create_issue: first (policy.star:4)",
            "docs/search: too noisy (policy.star:6)",
        ]
    );
    assert_eq!(plan.skipped[0].why.as_ptr(), plan.skipped[2].why.as_ptr());
}

#[test]
fn a_reason_is_a_text_of_bounded_length() {
    let plan = run("skip(backends()['docs'].tools()[0][0], 'ä' * 501)\n").unwrap();
    assert_eq!(*plan.skipped[0].why, *"ä".repeat(500));
    for (script, expected) in [
        ("skip('read', 'why')", "the first argument of skip() must be metadata, not a `string`"),
        ("skip(backends()['docs'].tools()[0][0], ' ')", "the reason given to skip() is empty"),
        ("skip(backends()['docs'].tools()[0][0])", "Missing parameter `why` for call to `skip`"),
        ("skip(backends()['docs'].tools()[0][0], 1)", "Type of parameter `why` doesn't match"),
    ] {
        let text = fault(script);
        assert!(text.contains(expected) && text.contains("policy.star:1:"), "{script}: {text}");
    }
}

#[test]
fn a_reason_in_a_handler_does_nothing() {
    let result = handle(
        "meta = backends()['docs'].tools()[0][0]\nreturn [skip(meta, 'why'), meta.replace(name = 'x').name]",
        "{}",
    );
    assert_eq!(result.unwrap(), json!([null, "x"]));
}

#[test]
fn what_a_conflict_of_passthrough_drops_has_a_reason() {
    let resource = |name: &str| {
        let mut view = (*named(name, &[])).clone();
        let definition = json!({"uri": "memo://a", "name": "a"});
        let list = vec![Arc::new(Definition::parse(ItemKind::Resource, raw(&definition)).unwrap())];
        view.lists = Arc::new(Lists { resources: list, ..Lists::default() });
        Arc::new(view)
    };
    let script = "\npassthrough()\n";
    let plan = run_with(vec![resource("one"), resource("two")], json!({}), &Limits::SESSION_SCRIPT, script).unwrap();
    assert_eq!(
        skipped(&plan),
        ["two/memo://a: resource skipped: its URI is already published (of `one`) (policy.star:2)"]
    );
}

#[test]
fn the_library_says_why_it_leaves_something_out() {
    let aggregated = |settings: Value| {
        let script = "load('@proxy//lib@1.star', 'aggregate', 'read_only')
for meta, call in read_only(aggregate(backends(), config()['aggregation'])):
    publish(meta, call)
";
        let plan = run_with(two(), json!({"aggregation": settings}), &Limits::SESSION_SCRIPT, script).unwrap();
        plan.skipped
            .iter()
            .map(|item| (format!("{}/{}", item.item.backend, item.item.name), item.why.to_string()))
            .collect::<Vec<_>>()
    };
    let reason = |settings: Value, item: &str| {
        let all = aggregated(settings);
        all.iter().find(|(name, _)| name == item).unwrap_or_else(|| panic!("{item} is not in {all:?}")).1.clone()
    };
    for (settings, item, expected) in [
        (json!({}), "docs/read", "it has no `readOnlyHint`"),
        (json!({"excludeAllTools": true}), "docs/read", "excluded by `aggregation.excludeAllTools`"),
        (
            json!({"tools": [{"workload": "docs", "excludeAll": true}]}),
            "docs/read",
            "excluded by `aggregation.tools[].excludeAll` of `docs`",
        ),
        (
            json!({"tools": [{"workload": "docs", "filter": ["s*"]}]}),
            "docs/read",
            "no pattern of `aggregation.tools[].filter` matches it",
        ),
        (
            json!({"tools": [{"workload": "docs", "exclude": ["r*"]}]}),
            "docs/read",
            "excluded by `aggregation.tools[].exclude`",
        ),
        (
            json!({"defaultToolVisibility": "deny", "tools": [{"workload": "docs"}]}),
            "github/search",
            "`aggregation.defaultToolVisibility` is `deny`, and `aggregation.tools` has no entry for `github`",
        ),
        (
            json!({"conflictResolution": "priority", "conflictResolutionConfig": {"priorityOrder": ["docs"]}}),
            "github/search",
            "`search` of `docs` has priority",
        ),
    ] {
        assert_eq!(reason(settings.clone(), item), expected, "{settings}");
    }
}
