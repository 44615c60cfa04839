use super::*;

const META: &str = "backends()['github'].tools()[0][0]";

#[test]
fn absent_fields_have_a_value_of_their_kind() {
    let fields = "[m.name, m.title, m.description, m.annotations, m.output_schema, m.icons, m.meta, m.backend_id, m.original_name]";
    assert_eq!(
        evaluate(&format!("[{fields} for m in [{META}]][0]")),
        json!(["search", "", "does search", {}, null, [], {}, "github", "search"]),
    );
    let made = "metadata('n', 'd', {'type': 'object'}, {'readOnlyHint': True}, title = 'T', output_schema = {'type': 'object'})";
    assert_eq!(
        evaluate(&format!("[{fields} for m in [{made}]][0]")),
        json!(["n", "T", "d", {"readOnlyHint": true}, {"type": "object"}, [], {}, null, "n"]),
    );
    assert_eq!(evaluate(&format!("{META}.parameters['required']")), json!(["a"]));
}

#[test]
fn replace_changes_only_what_it_names() {
    let plan = run(&format!("publish({META}.replace(description = 'new', title = 'T'), print)")).unwrap();
    let tool = &plan.items.tools[0];
    let original = two()[0].lists.tools[0].raw().get().to_owned();
    assert_eq!(
        tool.definition.raw().get(),
        format!("{},\"title\":\"T\"}}", original.replace("does search", "new").trim_end_matches('}').to_owned() + "}")
    );
    assert_eq!(evaluate(&format!("{META}.replace(name = 'x').original_name")), json!("search"));
    assert_eq!(evaluate(&format!("{META}.replace(title = 'x').replace(title = '').title")), json!(""));
    assert_eq!(evaluate(&format!("{META}.replace(annotations = {{'a': 1}}).annotations")), json!({"a": 1}));
}

#[test]
fn what_cannot_be_replaced() {
    for (change, message, hint) in [
        ("backend_id = 'x'", "`backend_id` cannot be replaced", ""),
        ("original_name = 'x'", "`original_name` cannot be replaced", ""),
        ("descripton = 'x'", "the metadata of a tool has no field `descripton`", "did you mean `description`?"),
        (
            "zebra = 'x'",
            "the metadata of a tool has no field `zebra`",
            "its fields are name, title, description, parameters, annotations",
        ),
        ("name = 1", "`name` must be text, not a `int`", ""),
        ("parameters = []", "`parameters` must be a dict, not a `list`", ""),
        (
            "annotations = {'a': print}",
            "`annotations` cannot be converted to JSON: `a`: a function has no JSON representation",
            "",
        ),
    ] {
        let text = fault(&format!("x = {META}.replace({change})"));
        assert!(text.contains(message) && text.contains(hint), "{change}: {text}");
    }
    assert!(fault("metadata('a')").contains("Missing"), "{}", fault("metadata('a')"));
}

#[test]
fn a_digest_pins_the_original_definition() {
    assert_eq!(
        evaluate(&format!("digest({META}) == digest({META}.replace(name = 'x', description = ''))")),
        json!(true)
    );
    let definition: Value = serde_json::from_str(two()[0].lists.tools[0].raw().get()).unwrap();
    assert_eq!(evaluate(&format!("digest({META})")), json!(proxy_json::digest(&definition)));
    assert_eq!(evaluate("digest({'b': 1.0, 'a': 2}) == digest({'a': 2, 'b': 1})"), json!(true));
}

#[test]
fn bind_fills_in_parameters() {
    let plan = run("publish(*bind(backends()['github'].tools()[0], a = 'fixed'))").unwrap();
    let schema = plan.items.tools[0].definition.member("inputSchema").unwrap();
    assert_eq!(schema, json!({"type": "object", "properties": {"b": {"type": "integer"}}, "required": []}));
    let host = Arc::new(Recorder::default());
    call(&plan, "search", r#"{"a":"from the client","b":1}"#, &host, &Limits::HANDLER).unwrap();
    assert_eq!(host.calls.lock()[0].1, r#"{"a":"fixed","b":1}"#);
    let text = fault("bind(backends()['github'].tools()[0], aa = 1)");
    assert!(
        text.contains("the tool `search` has no parameter `aa`") && text.contains("its parameters are a, b"),
        "{text}"
    );
    assert!(fault("bind(1, a = 1)").contains("must be a tuple of metadata and handler"));
}

#[test]
fn regular_expressions_globs_and_json() {
    for (expression, expected) in [
        ("re.match('([a-z]+)_(?P<n>[0-9]+)', 'ab_12 x').groups", json!(["ab", "12"])),
        ("re.match('(?P<n>[0-9]+)', '12').named", json!({"n": "12"})),
        ("re.match('b', 'ab')", json!(null)),
        ("re.match('a|b', 'b').text", json!("b")),
        ("re.find_all('[0-9]+', 'a1b22')", json!(["1", "22"])),
        ("re.find_all('([a-z])[0-9]', 'a1b2')", json!(["a", "b"])),
        ("re.find_all('([a-z])([0-9])', 'a1')", json!([["a", "1"]])),
        ("re.sub('([a-z])([0-9])', r'\\2\\1$', 'a1b2')", json!("1a$2b$")),
        ("re.sub('a', 'x', 'aaa', count = 2)", json!("xxa")),
        (
            "[re.glob(p, 'list_items') for p in ['list_*', '*', 'list_item?', 'l[aei]st*', 'l[!i]*', 'list', 'LIST_*']]",
            json!([true, true, true, true, false, false, false]),
        ),
        ("re.glob('a.c', 'abc')", json!(false)),
        (
            "[re.glob(p, 'a[b/c') for p in ['a**', '**c', 'a[*', '*[b?c', '?[[]*']]",
            json!([true, true, true, true, true]),
        ),
        (
            "json.decode('{\"big\": 12345678901234567890123}')['big'] + 1",
            serde_json::from_str("12345678901234567890124").unwrap(),
        ),
        ("json.decode('nope', default = 1)", json!(1)),
        ("json.encode_indent({'a': [1]}, indent = ' ')", json!("{\n \"a\": [\n  1\n ]\n}")),
        (
            "json.encode(struct(a = set([1]), b = (1, 2.5), c = range(2)))",
            json!("{\"a\":[1],\"b\":[1,2.5],\"c\":[0,1]}"),
        ),
        ("f'{1 + 1} {\"x\"}'", json!("2 x")),
        ("error('no')", json!({"content": [{"type": "text", "text": "no"}], "isError": true})),
        ("unwrap({'structuredContent': {'result': [1]}})", json!([1])),
        ("unwrap({'structuredContent': {'a': 1}})", json!({"a": 1})),
        ("unwrap({'content': [{'type': 'text', 'text': '{\"a\": 1}'}]})", json!({"a": 1})),
        ("unwrap({'content': [{'type': 'text', 'text': 'hello'}]})", json!("hello")),
        ("attempt(lambda: unwrap(error('why'))).error", json!("why")),
        ("attempt(lambda: fail('x')).ok", json!(false)),
        ("attempt(lambda a, b: a + b, 1, b = 2).value", json!(3)),
        ("attempt(json.decode, '1e400').error", json!("number out of range: 1e+400")),
        ("partial(lambda a, b: a - b, 3)(1)", json!(2)),
    ] {
        assert_eq!(evaluate(expression), expected, "{expression}");
    }
    for (expression, expected) in [
        ("re.match('(', 'x')", "invalid regular expression `(`: unclosed group"),
        ("json.encode({'a': [float('nan')]})", "`a[0]`: nan is a number that JSON cannot hold"),
        ("json.encode({'a': {1: 2}})", "`a`: the key 1 is a `int`; JSON keys must be strings"),
        ("json.decode('{')", "not JSON"),
    ] {
        let text = fault(&format!("x = {expression}"));
        assert!(text.contains(expected), "{expression}: {text}");
    }
}
