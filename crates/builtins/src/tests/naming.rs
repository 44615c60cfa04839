use super::other_kinds::{keys, offering};
use super::*;
use crate::presets;
use proxy_config::Naming;

fn preset_with(name: &str, backends: Vec<Arc<BackendView>>, aggregation: Value) -> Result<Plan, Diagnostic> {
    let Value::Object(sections) = json!({"aggregation": aggregation}) else { unreachable!() };
    run_session_script(
        &presets::find(name).unwrap().script(),
        Path::new("."),
        Arc::new(Snapshot { version: 1, generation: 1, backends }),
        Arc::new(Settings { sections, ..Settings::default() }),
        proxy_model::SurfaceKey::anonymous(),
        &Limits::SESSION_SCRIPT,
    )
    .map_err(|error| *error.diagnostic)
}

fn default(backends: Vec<Arc<BackendView>>, aggregation: Value) -> Result<Plan, Diagnostic> {
    preset_with("default", backends, aggregation)
}

/// The tools and prompts of backends of which some have accounts of people.
fn with_accounts(backends: Vec<Arc<BackendView>>, aggregation: Value, namings: &[(&str, Naming)]) -> Plan {
    let Value::Object(sections) = json!({"aggregation": aggregation}) else { unreachable!() };
    let namings = namings.iter().map(|(name, naming)| ((*name).to_owned(), *naming)).collect();
    run_session_script(
        &presets::find("default").unwrap().script(),
        Path::new("."),
        Arc::new(Snapshot { version: 1, generation: 1, backends }),
        Arc::new(Settings { sections, namings, ..Settings::default() }),
        proxy_model::SurfaceKey::anonymous(),
        &Limits::SESSION_SCRIPT,
    )
    .unwrap()
}

#[test]
fn no_name_depends_on_who_has_connected_which_account() {
    let both = [("crm", Naming::Prefixed), ("crm2", Naming::Prefixed)];
    let crm = || named("crm", &["whoami", "search"]);
    let crm2 = || named("crm2", &["whoami", "search"]);
    let waiting = |name: &str| named(name, &[&format!("{name}_log_in")]);
    let notes = || named("notes", &["search"]);
    for (backends, expected) in [
        (vec![crm(), crm2(), notes()], vec!["crm_whoami", "crm_search", "crm2_whoami", "crm2_search", "search"]),
        (vec![waiting("crm"), crm2(), notes()], vec!["crm_log_in", "crm2_whoami", "crm2_search", "search"]),
        (vec![crm(), waiting("crm2"), notes()], vec!["crm_whoami", "crm_search", "crm2_log_in", "search"]),
    ] {
        assert_eq!(names(&with_accounts(backends, json!({}), &both)), expected);
    }
    // The only server with such accounts keeps its names, where no other server has them.
    let only = [("crm", Naming::Last)];
    for (backends, expected) in [
        (vec![crm(), notes()], vec!["whoami", "crm_search", "search"]),
        (vec![waiting("crm"), notes()], vec!["crm_log_in", "search"]),
    ] {
        assert_eq!(names(&with_accounts(backends, json!({}), &only)), expected);
    }
}

#[test]
fn an_override_and_the_strategy_prefix_hold_for_accounts_of_people_too() {
    let both = [("crm", Naming::Prefixed), ("crm2", Naming::Prefixed)];
    let backends = || vec![named("crm", &["whoami"]), named("crm2", &["crm2_log_in"])];
    let overrides = json!({"tools": [{"workload": "crm", "overrides": {"whoami": {"name": "me"}}}]});
    assert_eq!(names(&with_accounts(backends(), overrides, &both)), ["me", "crm2_log_in"]);
    let prefix = json!({"conflictResolution": "prefix"});
    assert_eq!(names(&with_accounts(backends(), prefix, &both)), ["crm_whoami", "crm2_log_in"]);
}

fn three() -> Vec<Arc<BackendView>> {
    vec![named("github", &["search", "issue"]), named("docs", &["search", "read"]), named("web", &["search", "fetch"])]
}

#[test]
fn auto_keeps_the_first_bare_and_loses_nothing() {
    let plan = default(three(), json!({"conflictResolution": "auto"})).unwrap();
    assert_eq!(names(&plan), ["search", "issue", "docs_search", "read", "web_search", "fetch"]);
    assert!(plan.items.tools.iter().all(|tool| matches!(tool.handler, Handler::Backend(_))));
    assert!(plan.sections_read.contains("aggregation"));
    // A server added at the end does not rename earlier tools; its own get a hash if the prefixed name is taken too.
    let mut backends = three();
    backends.push(named("x", &["docs_search", "fetch", "x_docs_search"]));
    let plan = default(backends, json!({})).unwrap();
    let expected = ["search", "issue", "docs_search", "read", "web_search", "fetch", "x_docs_search", "x_fetch"];
    assert_eq!(&names(&plan)[..8], expected);
    assert_eq!(names(&plan)[8], "x_x_docs_search");
    let plan = default(vec![named("a", &["b_x", "x"]), named("b", &["x"])], json!({})).unwrap();
    let last = names(&plan)[2];
    assert!(last.starts_with("b_x_") && last.len() == 12, "{last}");
}

#[test]
fn prefix_goes_on_every_name() {
    let plan = default(two(), json!({"conflictResolution": "prefix"})).unwrap();
    assert_eq!(names(&plan), ["github_search", "github_create_issue", "docs_search", "docs_read"]);
    let format = json!({"conflictResolution": "prefix", "conflictResolutionConfig": {"prefixFormat": "{workload}."}});
    assert_eq!(names(&default(two(), format).unwrap())[0], "github.search");
    // Two servers whose prefixed names collide.
    let backends = vec![named("a", &["b_c"]), named("a_b", &["c"])];
    let plan = default(backends, json!({"conflictResolution": "prefix"})).unwrap();
    assert_eq!(names(&plan)[0], "a_b_c");
    assert!(names(&plan)[1].starts_with("a_b_c_"), "{:?}", names(&plan));
}

#[test]
fn priority_lets_the_first_ranked_win() {
    let ranked =
        |order: Value| json!({"conflictResolution": "priority", "conflictResolutionConfig": {"priorityOrder": order}});
    let plan = default(three(), ranked(json!(["web", "docs"]))).unwrap();
    assert_eq!(names(&plan), ["issue", "read", "search", "fetch"]);
    assert_eq!(plan.items.tools[2].origin.as_ref().unwrap().backend.as_ref(), "web");
    let dropped: Vec<&Value> = plan.log.iter().map(|line| &line.fields["dropped"]).collect();
    assert_eq!(dropped, ["github", "docs"]);
    let plan = default(three(), ranked(json!(["other"]))).unwrap();
    assert_eq!(names(&plan), ["github_search", "issue", "docs_search", "read", "web_search", "fetch"]);
    let error = default(three(), ranked(json!([]))).unwrap_err();
    assert!(error.message.contains("priorityOrder is empty"), "{error}");
}

#[test]
fn manual_lists_every_collision() {
    let mut backends = three();
    backends.push(named("more", &["read"]));
    let error = default(backends, json!({"conflictResolution": "manual"})).unwrap_err();
    assert!(
        error.message.contains("`search` (github.search, docs.search, web.search); `read` (docs.read, more.read)"),
        "{error}"
    );
    let overrides = |name: &str| {
        json!({"conflictResolution": "manual", "tools": [
            {"workload": "github", "overrides": {"search": {"name": "code", "description": "Searches code", "annotations": {"readOnlyHint": true}}}},
            {"workload": "docs", "overrides": {"search": {"name": name}}},
        ]})
    };
    let plan = default(three(), overrides("manual")).unwrap();
    assert_eq!(names(&plan), ["code", "issue", "manual", "read", "search", "fetch"]);
    assert_eq!(plan.items.tools[0].definition.text("description"), "Searches code");
    assert_eq!(plan.items.tools[0].definition.member("annotations").unwrap(), json!({"readOnlyHint": true}));
    assert_eq!(plan.items.tools[0].origin.as_ref().unwrap().name.as_ref(), "search");
    let error = default(three(), overrides("code")).unwrap_err();
    assert!(error.message.contains("`code` (github.search, docs.search)"), "{error}");
}

#[test]
fn filters_work_on_original_names_before_overrides() {
    for (aggregation, expected) in [
        (json!({"excludeAllTools": true}), vec![]),
        (json!({"tools": [{"workload": "docs", "excludeAll": true}]}), vec!["search", "create_issue"]),
        (json!({"tools": [{"workload": "github", "filter": ["create_*"]}]}), vec!["create_issue", "search", "read"]),
        (
            json!({"tools": [{"workload": "github", "filter": ["search"], "overrides": {"search": {"name": "find"}}}]}),
            vec!["find", "search", "read"],
        ),
        (
            json!({"tools": [{"workload": "github", "filter": ["find"], "overrides": {"search": {"name": "find"}}}]}),
            vec!["search", "read"],
        ),
        (json!({"defaultToolVisibility": "deny"}), vec![]),
        (json!({"defaultToolVisibility": "deny", "tools": [{"workload": "docs"}]}), vec!["search", "read"]),
    ] {
        let plan = default(two(), aggregation.clone()).unwrap();
        assert_eq!(names(&plan), expected, "{aggregation}");
    }
    let plan = default(
        two(),
        json!({"tools": [{"workload": "dcos"}, {"workload": "docs", "overrides": {"gone": {"name": "x"}}}]}),
    )
    .unwrap();
    assert_eq!(plan.log.len(), 2);
    let error = default(two(), json!({"conflictResolution": "magic"})).unwrap_err();
    assert!(error.message.contains("it must be one of auto, prefix, priority, manual"), "{error}");
}

#[test]
fn long_and_invalid_names_are_rewritten_deterministically() {
    let long = "x".repeat(100);
    let backends = || vec![named("my server", &[&long, "a b", "same"]), named("other/1", &["same", "a b"])];
    let plan = default(backends(), json!({})).unwrap();
    let first = names(&plan)[0];
    assert!(first.len() == 64 && first.starts_with("xxx") && first.as_bytes()[55] == b'_', "{first}");
    assert_eq!(&names(&plan)[1..], ["a b", "same", "other_1_same", "other_1_a_b"]);
    assert_eq!(names(&default(backends(), json!({})).unwrap())[0], first);
    let plan = default(backends(), json!({"conflictResolution": "prefix"})).unwrap();
    assert!(names(&plan).iter().all(|name| name.len() <= 64), "{:?}", names(&plan));
    assert_eq!(names(&plan)[1], "my_server_a_b");
}

#[test]
fn passthrough_changes_nothing_and_refuses_collisions() {
    let plan = preset_with("passthrough", vec![named("a", &["x", "y"])], json!({})).unwrap();
    assert_eq!(names(&plan), ["x", "y"]);
    let error = preset_with("passthrough", two(), json!({})).unwrap_err();
    assert!(error.message.contains("the name `search` (of server `docs`) is already published"), "{error}");
}

#[test]
fn prompts_follow_the_strategy_and_resources_the_order() {
    let backends = || {
        let (first, second) = (&["x:a", "x:b"], &["x:b", "x:c"]);
        vec![offering("one", first, &["review", "plan"]), offering("two", second, &["review", "fix it"])]
    };
    let ranked = json!({"conflictResolution": "priority", "conflictResolutionConfig": {"priorityOrder": ["two"]}});
    for (aggregation, expected) in [
        (json!({}), vec!["review", "plan", "two_review", "fix it"]),
        (json!({"conflictResolution": "prefix"}), vec!["one_review", "one_plan", "two_review", "two_fix_it"]),
        (ranked, vec!["plan", "review", "fix it"]),
        // Settings that hide tools do not hide prompts.
        (json!({"excludeAllTools": true}), vec!["review", "plan", "two_review", "fix it"]),
        (json!({"defaultToolVisibility": "deny"}), vec!["review", "plan", "two_review", "fix it"]),
    ] {
        let plan = default(backends(), aggregation.clone()).unwrap();
        assert_eq!(keys(&plan, ItemKind::Prompt), expected, "{aggregation}");
        assert_eq!(keys(&plan, ItemKind::Resource), ["x:a", "x:b", "x:c"]);
        assert_eq!(keys(&plan, ItemKind::ResourceTemplate).len(), 1);
        let line = plan.log.iter().find(|line| line.fields.get("uri") == Some(&json!("x:b"))).unwrap();
        assert_eq!((&line.fields["kept"], &line.fields["dropped"]), (&json!("one"), &json!("two")));
    }
    let error = default(backends(), json!({"conflictResolution": "manual"})).unwrap_err();
    assert!(
        error
            .message
            .contains("`review` (one.review, two.review). Give them other names in aggregation.prompts[].overrides"),
        "{error}"
    );
    let plan = preset_with("passthrough", backends(), json!({})).unwrap();
    assert_eq!(keys(&plan, ItemKind::Prompt), ["review", "plan", "fix it"]);
    assert_eq!(keys(&plan, ItemKind::Resource), ["x:a", "x:b", "x:c"]);
}

#[test]
fn an_invalid_name_does_not_fail_the_default_preset() {
    let plan = default(vec![offering("one", &["", "x:a"], &["", "fine"]), named("two", &["a\nb", "good"])], json!({}))
        .unwrap();
    assert_eq!(names(&plan), ["one_tool", "good"]);
    assert_eq!(keys(&plan, ItemKind::Prompt), ["fine"]);
    assert_eq!(keys(&plan, ItemKind::Resource), ["x:a"]);
    assert_eq!(plan.log.len(), 3);
}

#[test]
fn a_thousand_tools_all_get_a_name_of_their_own() {
    let backends: Vec<_> = (0..10)
        .map(|server| {
            let tools: Vec<String> = (0..100).map(|tool| format!("tool_{}", tool + server % 2)).collect();
            named(&format!("server{server}"), &tools.iter().map(String::as_str).collect::<Vec<_>>())
        })
        .collect();
    let plan = default(backends, json!({})).unwrap();
    let unique: std::collections::HashSet<&str> = names(&plan).into_iter().collect();
    assert_eq!(unique.len(), 1000);
}
