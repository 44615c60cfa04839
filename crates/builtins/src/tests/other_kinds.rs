//! Resources, resource templates and prompts.

use super::*;

fn definitions(kind: ItemKind, items: &[Value]) -> Vec<Arc<Definition>> {
    items.iter().map(|item| Arc::new(Definition::parse(kind, raw(item)).unwrap())).collect()
}

fn resource(uri: &str) -> Value {
    json!({"uri": uri, "name": "r", "x-vendor": 1.10})
}

fn prompt(name: &str) -> Value {
    json!({"name": name, "arguments": [{"name": "topic", "required": true}], "x-vendor": 1.10})
}

/// A backend with a tool, these resources and prompts, and one template.
pub(super) fn offering(name: &str, resources: &[&str], prompts: &[&str]) -> Arc<BackendView> {
    let mut view = BackendView::clone(&named(name, &[&format!("{name}_tool")]));
    let uris: Vec<Value> = resources.iter().map(|uri| resource(uri)).collect();
    let names: Vec<Value> = prompts.iter().map(|name| prompt(name)).collect();
    view.lists = Arc::new(Lists {
        tools: view.lists.tools.clone(),
        resources: definitions(ItemKind::Resource, &uris),
        resource_templates: definitions(
            ItemKind::ResourceTemplate,
            &[json!({"uriTemplate": "file:///{path}", "name": "files", "mimeType": "text/plain"})],
        ),
        prompts: definitions(ItemKind::Prompt, &names),
    });
    Arc::new(view)
}

fn pair() -> Vec<Arc<BackendView>> {
    vec![
        offering("notes", &["notes://a", "notes://b"], &["review", "plan"]),
        offering("wiki", &["notes://a", "wiki://home"], &["review"]),
    ]
}

fn run_pair(script: &str) -> Result<Plan, Diagnostic> {
    run_with(pair(), json!({}), &Limits::SESSION_SCRIPT, script)
}

fn fault_of(script: &str) -> String {
    run_pair(script).unwrap_err().to_string()
}

fn read(expression: &str) -> Value {
    let script = format!("publish(metadata('x', json.encode({expression}), {{}}, {{}}), print)");
    let plan = run_pair(&script).unwrap_or_else(|error| panic!("{expression}: {error}"));
    serde_json::from_str(&plan.items.tools[0].definition.text("description")).unwrap()
}

pub(super) fn keys(plan: &Plan, kind: ItemKind) -> Vec<&str> {
    plan.items.of(kind).iter().map(|item| item.definition.key()).collect()
}

fn owners(plan: &Plan, kind: ItemKind) -> Vec<&str> {
    plan.items.of(kind).iter().map(|item| item.origin.as_ref().unwrap().backend.as_ref()).collect()
}

#[test]
fn each_kind_has_its_fields() {
    let common = "m.name, m.title, m.description, m.icons, m.meta, m.backend_id";
    assert_eq!(
        read(&format!(
            "[[m.uri, m.mime_type, m.size, m.annotations, {common}] for m, _ in backends()['notes'].resources()][0]"
        )),
        json!(["notes://a", "", null, {}, "r", "", "", [], {}, "notes"]),
    );
    assert_eq!(
        read(&format!(
            "[[m.uri_template, m.mime_type, m.annotations, {common}] for m, _ in backends()['wiki'].resource_templates()][0]"
        )),
        json!(["file:///{path}", "text/plain", {}, "files", "", "", [], {}, "wiki"]),
    );
    assert_eq!(
        read(&format!("[[m.arguments, m.original_name, {common}] for m, _ in backends()['notes'].prompts()][1]")),
        json!([[{"name": "topic", "required": true}], "plan", "plan", "", "", [], {}, "notes"]),
    );
    let held = "[[hasattr(m, f) for f in ['uri', 'name', 'parameters', 'arguments', 'original_name', 'replace']] for m in [PLACE]][0]";
    assert_eq!(
        read(&held.replace("PLACE", "backends()['notes'].resources()[0][0]")),
        json!([true, true, false, false, false, true])
    );
    assert_eq!(
        read(&held.replace("PLACE", "backends()['notes'].tools()[0][0]")),
        json!([false, true, true, false, true, true])
    );
    let text = fault_of("x = backends()['notes'].resources()[0][0].parameters");
    assert!(text.contains("`parameters`"), "{text}");
}

#[test]
fn new_metadata_of_each_kind() {
    for (expression, expected) in [
        (
            "resource_metadata('a:b', 'n', title = 'T', description = 'D', mime_type = 'text/plain', size = 3, annotations = {'priority': 1})",
            json!({"uri": "a:b", "name": "n", "title": "T", "description": "D", "mimeType": "text/plain", "size": 3, "annotations": {"priority": 1}}),
        ),
        ("resource_metadata('a:b', 'n')", json!({"uri": "a:b", "name": "n"})),
        (
            "resource_template_metadata('a:{b}', 'n', mime_type = 'text/plain', meta = {'k': 1})",
            json!({"uriTemplate": "a:{b}", "name": "n", "mimeType": "text/plain", "_meta": {"k": 1}}),
        ),
        (
            "prompt_metadata('p', 'D', [{'name': 'a'}], title = 'T', icons = [{'src': 'x'}])",
            json!({"name": "p", "title": "T", "description": "D", "arguments": [{"name": "a"}], "icons": [{"src": "x"}]}),
        ),
        ("prompt_metadata('p', '', [])", json!({"name": "p", "description": ""})),
    ] {
        assert_eq!(read(expression), expected, "{expression}");
    }
    for (expression, expected) in [
        ("resource_metadata(1, 'n')", "`uri` must be text, not a `int`"),
        ("resource_metadata('a:b', 'n', size = -1)", "`size` must be a non-negative integer or None"),
        ("resource_metadata('a:b', 'n', size = 1.5)", "`size` must be a non-negative integer or None"),
        ("prompt_metadata('p', '', ['a'])", "`arguments[0]` is not a dict with a `name`"),
        ("prompt_metadata('p', '', [{'name': 'a'}, {'name': 'a'}])", "`arguments` has two entries named `a`"),
        ("prompt_metadata('p', '', {})", "`arguments` must be a list, not a `dict`"),
    ] {
        let text = fault_of(&format!("x = {expression}"));
        assert!(text.contains(expected), "{expression}: {text}");
    }
}

#[test]
fn replace_splices_into_every_kind() {
    let plan = run_pair(
        "
meta, call = backends()['notes'].resources()[0]
publish_resource(meta.replace(uri = 'team:a', size = 7, mime_type = 'text/plain'), call)
meta, call = backends()['notes'].prompts()[0]
publish_prompt(meta.replace(name = 'check', arguments = []), call)
",
    )
    .unwrap();
    let [resource, prompt] = [&plan.items.resources[0], &plan.items.prompts[0]];
    assert_eq!(
        resource.definition.raw().get(),
        r#"{"uri":"team:a","name":"r","x-vendor":1.1,"size":7,"mimeType":"text/plain"}"#
    );
    assert_eq!(prompt.definition.raw().get(), r#"{"name":"check","x-vendor":1.1}"#);
    let origin = resource.origin.clone().unwrap();
    assert_eq!(origin, ItemRef { kind: ItemKind::Resource, backend: "notes".into(), name: "notes://a".into() });
    assert!(matches!(&resource.handler, Handler::Backend(target) if *target == origin));
    for (place, change, expected) in [
        ("resources", "backend_id = 'x'", "`backend_id` cannot be replaced: it says where the resource came from"),
        ("prompts", "original_name = 'x'", "`original_name` cannot be replaced: it says where the prompt came from"),
        ("resources", "mimetype = 'x'", "did you mean `mime_type`?"),
        ("resource_templates", "size = 1", "the metadata of a resource template has no field `size`"),
        ("prompts", "parameters = {}", "the metadata of a prompt has no field `parameters`"),
    ] {
        let text = fault_of(&format!("x = backends()['notes'].{place}()[0][0].replace({change})"));
        assert!(text.contains(expected), "{change}: {text}");
    }
}

#[test]
fn kinds_do_not_share_names() {
    let plan = run_pair(
        "
publish(metadata('same', '', {}, {}), print)
publish_prompt(prompt_metadata('same', '', []), print)
publish_resource(resource_metadata('a:b', 'same'), print)
publish_resource_template(resource_template_metadata('a:b', 'same'), print)
",
    )
    .unwrap();
    assert!(ItemKind::ALL.iter().all(|kind| plan.items.of(*kind).len() == 1));
    let twice = "publish_resource(resource_metadata('a:b', 'n'), print)\n".repeat(2);
    let text = fault_of(&twice);
    assert!(text.contains("the URI `a:b` is already published, at policy.star:1"), "{text}");
    assert!(text.contains("give one of them another URI with `meta.replace(uri = ...)`"), "{text}");
}

#[test]
fn what_cannot_be_published() {
    let resource = "backends()['notes'].resources()[0]";
    let template = "backends()['notes'].resource_templates()[0]";
    let tool = "backends()['notes'].tools()[0]";
    for (script, expected) in [
        ("publish_resource(resource_metadata('', 'n'), print)".to_owned(), "the URI \"\" is empty"),
        ("publish_resource(resource_metadata('a:\\n', 'n'), print)".to_owned(), "contains control characters"),
        (
            "publish_resource(resource_metadata('notes', 'n'), print)".to_owned(),
            "the URI `notes` is not allowed: it has no scheme",
        ),
        (
            "publish_resource_template(resource_template_metadata('a:{b', 'n'), print)".to_owned(),
            "the URI template `a:{b` is not allowed: its braces do not match",
        ),
        (
            "publish_prompt(prompt_metadata('a b', '', []), print)".to_owned(),
            "the prompt name `a b` is not allowed: only ASCII letters",
        ),
        ("publish_prompt(prompt_metadata('a', '', []), 1)".to_owned(), "the handler of `a` is a `int`, not a function"),
        (
            "publish_resource(resource_metadata('a:b', 'n'), lambda: 1)".to_owned(),
            "a handler takes one dict, with the `uri`",
        ),
        (
            "publish_prompt('a', print)".to_owned(),
            "take it from `backend.prompts()` or create it with `prompt_metadata",
        ),
        (format!("publish(*{resource})"), "publish() publishes a tool; `notes://a` is a resource"),
        (format!("publish(*{resource})"), "publish a resource with `publish_resource(meta, handler)`"),
        (format!("publish_resource(*{template})"), "publish a resource template with `publish_resource_template"),
        (format!("publish_prompt(*{tool})"), "publish a tool with `publish(meta, handler)`"),
        (
            format!("publish_prompt(prompt_metadata('p', '', []), {tool}[1])"),
            "the handler of the prompt `p` belongs to a tool",
        ),
        (
            format!("publish_resource_template({template}[0].replace(uri_template = 'x:{{path}}'), {template}[1])"),
            "the server has no resource template `x:{path}`, only `file:///{path}`",
        ),
        (format!("bind({resource}, a = 1)"), "bind() fills in the parameters of a tool; `notes://a` is a resource"),
    ] {
        let text = fault_of(&script);
        assert!(text.contains(expected), "{script}: {text}");
    }
}

#[test]
fn handlers_of_other_kinds_reach_the_backend() {
    let plan = run_pair(
        "
def make(call):
    return lambda args: call(args, timeout = 2)
publish(metadata('r', '', {}, {}), make(backends()['notes'].resources()[1][1]))
publish(metadata('t', '', {}, {}), make(backends()['notes'].resource_templates()[0][1]))
publish(metadata('p', '', {}, {}), make(backends()['wiki'].prompts()[0][1]))
",
    )
    .unwrap();
    let host = Arc::new(Recorder::default());
    for name in ["r", "t", "p"] {
        call(&plan, name, r#"{"uri":"notes://b"}"#, &host, &Limits::HANDLER).unwrap();
    }
    let calls = host.calls.lock();
    let targets: Vec<(ItemKind, &str)> = calls.iter().map(|(target, ..)| (target.kind, target.name.as_ref())).collect();
    assert_eq!(
        targets,
        [
            (ItemKind::Resource, "notes://b"),
            (ItemKind::ResourceTemplate, "file:///{path}"),
            (ItemKind::Prompt, "review")
        ]
    );
    assert_eq!(calls[0].1, r#"{"uri":"notes://b"}"#);
    let text = fault_of("backends()['wiki'].prompts()[0][1]({})");
    assert!(text.contains("calling the prompt `review` is possible only while a call is handled"), "{text}");
}

#[test]
fn passthrough_publishes_all_and_the_first_server_wins() {
    let plan = run_pair("passthrough()").unwrap();
    assert_eq!(keys(&plan, ItemKind::Resource), ["notes://a", "notes://b", "wiki://home"]);
    assert_eq!(owners(&plan, ItemKind::Resource), ["notes", "notes", "wiki"]);
    assert_eq!(keys(&plan, ItemKind::ResourceTemplate), ["file:///{path}"]);
    assert_eq!(keys(&plan, ItemKind::Prompt), ["review", "plan"]);
    assert!(plan.items.tools.is_empty());
    assert!(plan.items.prompts.iter().all(|prompt| matches!(prompt.handler, Handler::Backend(_))));
    let proxy_script::LogLine { level, message, fields } = &plan.log[0];
    assert_eq!((*level, message.as_str()), (LogLevel::Warning, "resource skipped: its URI is already published"));
    assert_eq!(Value::from(fields.clone()), json!({"uri": "notes://a", "dropped": "wiki", "kept": "notes"}));
    let kinds: Vec<&str> = plan.log.iter().map(|line| line.fields.keys().next().unwrap().as_str()).collect();
    assert_eq!(kinds, ["uri", "uri_template", "name"]);

    let plan = run_pair("passthrough(prompts = False)").unwrap();
    assert_eq!((plan.items.resources.len(), plan.items.prompts.len()), (3, 0));
    let plan = run_pair("passthrough(resources = False)").unwrap();
    assert_eq!((plan.items.resources.len(), plan.items.resource_templates.len(), plan.items.prompts.len()), (0, 0, 2));
    assert!(handle("passthrough()", "{}").unwrap_err().message.contains("works only at the top level"));
}

#[test]
fn passthrough_gives_way_to_the_script() {
    let own = "publish_prompt(prompt_metadata('review', 'ours', []), print)\n";
    let plan = run_pair(&format!("{own}passthrough()\n")).unwrap();
    assert_eq!(keys(&plan, ItemKind::Prompt), ["review", "plan"]);
    assert_eq!(plan.items.prompts[0].definition.text("description"), "ours");
    assert!(plan.log.iter().any(|line| line.fields["kept"] == "policy.star:1"), "{:?}", plan.log);
    let text = fault_of(&format!("passthrough()\n{own}"));
    assert!(text.contains("the name `review` is already published, at policy.star:1"), "{text}");
}

#[test]
fn discouraged_names_of_a_server_pass_and_invalid_ones_are_skipped() {
    let backends = vec![offering("odd", &["no scheme", "", "a:\u{1}"], &["do it!", ""])];
    let plan = run_with(backends, json!({}), &Limits::SESSION_SCRIPT, "passthrough()").unwrap();
    assert_eq!(keys(&plan, ItemKind::Resource), ["no scheme"]);
    assert_eq!(keys(&plan, ItemKind::Prompt), ["do it!"]);
    let warnings: Vec<&str> = plan.warnings.iter().map(|warning| warning.message.as_str()).collect();
    assert_eq!(
        warnings,
        [
            "the URI `no scheme` from server `odd` does not follow the MCP recommendations",
            "the prompt name `do it!` from server `odd` does not follow the MCP recommendations"
        ]
    );
    let skipped: Vec<&str> = plan.log.iter().map(|line| line.message.as_str()).collect();
    assert_eq!(
        skipped,
        [
            "resource skipped: the URI \"\" is empty",
            "resource skipped: the URI \"a:\\u0001\" contains control characters",
            "prompt skipped: the prompt name \"\" is empty"
        ]
    );
}
