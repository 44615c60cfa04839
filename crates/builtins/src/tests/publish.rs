use super::*;

#[test]
fn an_unwrapped_handler_is_the_backends_own_and_a_wrapped_one_a_function() {
    let plan = run("
for name, backend in backends().items():
    for meta, call in backend.tools():
        publish(meta.replace(name = name + '_' + meta.name), call)
def wrap(call):
    return lambda args: call(args)
meta, call = backends()['docs'].tools()[1]
publish(meta, wrap(call))
instructions('be kind')
")
    .unwrap();
    assert_eq!(names(&plan), ["github_search", "github_create_issue", "docs_search", "docs_read", "read"]);
    let origin = plan.items.tools[2].origin.clone().unwrap();
    assert_eq!((origin.backend.as_ref(), origin.name.as_ref()), ("docs", "search"));
    assert!(matches!(&plan.items.tools[2].handler, Handler::Backend(target) if *target == origin));
    assert!(matches!(&plan.items.tools[4].handler, Handler::Script(_)));
    assert_eq!(plan.instructions.as_deref(), Some("be kind"));
    assert!(plan.items.tools[0].definition.raw().get().contains(r#""x-vendor":1.1"#));
}

#[test]
fn a_name_published_twice_says_where_the_first_one_is() {
    let text = fault(
        "
def ok(args):
    return None
publish(metadata('a', '', {}, {}), ok)
publish(metadata('a', '', {}, {}), ok)
",
    );
    assert!(text.contains("error: the name `a` is already published, at policy.star:4"), "{text}");
    assert!(text.contains("policy.star:5:1"), "{text}");
    assert!(text.contains("hint: give one of them another name with `meta.replace(name = ...)`"), "{text}");
}

#[test]
fn what_cannot_be_published() {
    for (script, expected) in [
        ("publish(metadata('', '', {}, {}), print)", "the tool name \"\" is empty"),
        ("publish(metadata('a\\nb', '', {}, {}), print)", "the tool name \"a\\nb\" contains control characters"),
        ("publish(metadata('a b', '', {}, {}), print)", "the tool name `a b` is not allowed"),
        ("publish(metadata('a' * 129, '', {}, {}), print)", "is not allowed"),
        (
            "publish(metadata('a', '', {'type': 'string'}, {}), print)",
            "the parameters of `a` are not an object schema: `type` is \"string\"",
        ),
        ("publish(metadata('a', '', {'properties': {}}, {}), print)", "`type` is missing"),
        ("publish(metadata('a', '', {}, {}), 'x')", "the handler of `a` is a `string`, not a function"),
        ("publish(metadata('a', '', {}, {}), lambda: 1)", "the handler of `a` cannot be called with one argument"),
        ("publish(metadata('a', '', {}, {}), lambda a, b: 1)", "cannot be called with one argument"),
        ("publish('a', print)", "the first argument of publish() must be metadata, not a `string`"),
    ] {
        let text = fault(script);
        assert!(text.contains(expected), "{script}: {text}");
        assert!(text.contains("policy.star:1:1"), "{text}");
    }
    run("publish(metadata('a', '', {}, {}), lambda args, call = 1: 1)").unwrap();
}

#[test]
fn discouraged_names_of_a_backend_pass_with_a_warning() {
    let backends = vec![named("odd", &["get stuff!", "fine"])];
    let script = "for meta, call in backends()['odd'].tools():\n    publish(meta, call)\n";
    let plan = run_with(backends.clone(), json!({}), &Limits::SESSION_SCRIPT, script).unwrap();
    assert_eq!(names(&plan), ["get stuff!", "fine"]);
    let [warning] = &plan.warnings[..] else { panic!("one warning") };
    assert_eq!(warning.message, "the tool name `get stuff!` from server `odd` does not follow the MCP recommendations");
    assert_eq!(warning.place.as_ref().unwrap().line(), 2);
    let script =
        "for meta, call in backends()['odd'].tools():\n    publish(meta.replace(name = 'x_' + meta.name), call)\n";
    let error = run_with(backends, json!({}), &Limits::SESSION_SCRIPT, script).unwrap_err();
    assert!(error.message.contains("the tool name `x_get stuff!` is not allowed"), "{error}");
}

#[test]
fn a_backends_schema_without_type_passes() {
    let backends = vec![backend("lax", &[json!({"name": "a", "inputSchema": {}})])];
    let script = "for meta, call in backends()['lax'].tools():\n    publish(meta, call)\n";
    assert_eq!(names(&run_with(backends, json!({}), &Limits::SESSION_SCRIPT, script).unwrap()), ["a"]);
}

#[test]
fn config_records_what_was_read() {
    let sections = json!({"aggregation": {"x": 1}, "optimizer": {}, "params": {"team": "a"}});
    for (script, read) in [
        ("x = config()", vec![]),
        ("x = config()['params']['team']", vec!["params"]),
        ("x = config().get('optimizer')", vec!["optimizer"]),
        ("x = config().get('codeMode', 1)", vec!["codeMode"]),
        ("x = 'aggregation' in config()", vec!["aggregation"]),
        ("x = config().items()", vec!["aggregation", "optimizer", "params"]),
        ("x = [key for key in config()]", vec!["aggregation", "optimizer", "params"]),
    ] {
        let plan = run_with(vec![], sections.clone(), &Limits::SESSION_SCRIPT, script).unwrap();
        assert_eq!(plan.sections_read.iter().map(String::as_str).collect::<Vec<_>>(), read, "{script}");
    }
    let error = run_with(vec![], sections, &Limits::SESSION_SCRIPT, "config()['agregation']").unwrap_err();
    assert_eq!(error.message, "config() has no section `agregation`");
    assert_eq!(error.hint.as_deref(), Some("did you mean `aggregation`?"));
}

#[test]
fn the_top_level_logs_into_the_plan() {
    let plan = run("print('a', 1)\nlog('b', level = 'audit', tool = 'x')\n").unwrap();
    assert_eq!(plan.log[0].message, "a 1");
    assert_eq!((plan.log[1].level, &plan.log[1].fields["tool"]), (LogLevel::Audit, &json!("x")));
    let error = run("print('so far')\nfail('no further')\n").unwrap_err();
    assert_eq!(error.notes, ["the script logged: so far"]);
    assert!(fault("log('b', level = 'warn')").contains("unknown log level `warn`"));
}

#[test]
fn a_backend_shows_its_state() {
    assert_eq!(evaluate("[b.kind for b in backends().values()]"), json!(["stdio", "stdio"]));
    assert_eq!(evaluate("backends()['docs'].status"), json!("ready"));
    assert_eq!(evaluate("backends()['docs'].error"), json!(""));
    assert_eq!(evaluate("backends()['docs'].info.name"), json!("docs-server"));
    assert_eq!(evaluate("list(backends().keys())"), json!(["github", "docs"]));
}
