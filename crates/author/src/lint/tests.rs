//! Which lints fire for which text.

use super::{Role, alone};
use proxy_builtins::presets;
use proxy_script::Source;

fn found(role: Role, text: &str) -> Vec<String> {
    alone(&Source::new("policy.star", text), role)
        .iter()
        .map(|problem| {
            let place = problem.place.as_ref().expect("every finding has a place");
            format!("{}:{} {}", place.line(), place.column(), problem.rule.unwrap_or("-"))
        })
        .collect()
}

fn session(text: &str) -> Vec<String> {
    found(Role::Session, text)
}

#[test]
fn every_rule_finds_what_it_is_for() {
    for (text, expected) in [
        ("load(\"//x.star\", \"a\", \"b\")\nprint(a)\n", "1:23 unused-load"),
        ("def f():\n    x = 1\n    return 2\n", "2:5 unused-assign"),
        ("def f():\n    return 1\n    print(2)\n", "3:5 unreachable"),
        ("def f():\n    fail(\"no\")\n    print(2)\n", "3:5 unreachable"),
        ("print(nothing)\n", "1:7 using-undefined"),
        ("def f():\n    return backend\n", "2:12 using-undefined"),
        ("def f(a):\n    if a:\n        x = 1\n    return x\n", "4:12 using-maybe-undefined"),
        ("backends = 1\n", "1:1 shadowed-builtin"),
        ("def publish(meta):\n    return meta\n", "1:5 shadowed-builtin"),
        ("def f(xs):\n    for len in xs:\n        print(len)\n", "2:9 shadowed-builtin"),
        ("load(\"//x.star\", \"json\")\nprint(json)\n", "1:18 shadowed-builtin"),
        ("[1, 2]\n", "1:1 no-effect"),
        ("passthrough\n", "1:1 ident-as-statement"),
        ("x = {\"a\": 1, \"a\": 2}\n", "1:6 duplicate-key"),
        ("def f(x: int) -> str:\n    return x\n", "2:5 type"),
        ("def f(item):\n    item.meta[\"x\"] = 1\n", "2:5 lost-write"),
        ("for m, c in []:\n    publish(m, lambda args: c(args))\n", "2:29 loop-capture"),
        ("def f(args):\n    return elicit(\"Sure?\").action\n", "2:12 when-unavailable"),
        ("def f(args):\n    return attempt(elicit, \"Sure?\").ok\n", "2:12 when-unavailable"),
        ("def f(args):\n    return elicit(\"Sure?\", when_unavailable = \"ask\").action\n", "2:12 when-unavailable"),
        ("def on_requests(request):\n    fail(\"no\")\n", "1:5 misspelt-hook"),
    ] {
        assert_eq!(session(text), [expected], "{text}");
    }
    for text in [
        "x = metadata(\"a\", \"A\", {}, {\"readonly\": True})\n",
        "x = metadata(\"a\", \"A\", parameters = {}, annotations = {\"title\": \"A\", \"read_only\": True})\n",
    ] {
        let found = alone(&Source::new("policy.star", text), Role::Session);
        assert_eq!((found.len(), found[0].rule), (1, Some("unknown-annotation")), "{text}");
        assert!(
            found[0].hint.as_ref().is_some_and(|hint| hint.starts_with("did you mean `readOnlyHint`? ")),
            "{found:?}"
        );
    }
    let tool =
        "Tool(\n    name = \"a\", description = \"A\", handler = run,\n    annotations = {\"destructive\": True},\n)\n";
    let extension = format!("def run(params):\n    return 1\n\nx = {tool}");
    assert_eq!(found(Role::Extension, &extension), ["6:20 unknown-annotation"]);
    let both = session("def f(x):\n    return type(x) == str\n");
    assert_eq!(both, ["2:12 incompatible-type-check", "2:23 type"]);
}

#[test]
fn a_name_that_begins_with_an_underscore_may_be_unused() {
    assert_eq!(session("for meta, _ in []:\n    print(meta)\n"), [""; 0]);
    assert_eq!(session("for meta, _call in []:\n    print(meta)\n"), [""; 0]);
}

#[test]
fn problems_are_in_the_order_of_the_text() {
    let text = "log = 1\ndef f():\n    y = 1\n    return zz\n    print(1)\n";
    assert_eq!(session(text), ["1:1 shadowed-builtin", "3:5 unused-assign", "4:12 using-undefined", "5:5 unreachable"]);
}

#[test]
fn a_comment_disables_a_lint_on_its_line() {
    for text in [
        "def f():\n    x = 1 # starlark-lint-disable unused-assign\n    return 2\n",
        "# starlark-lint-disable shadowed-builtin\nbackends = 1\n",
        "def f(x: int) -> str:\n    return x # starlark-lint-disable type\n",
    ] {
        assert_eq!(session(text), [""; 0], "{text}");
    }
    assert_eq!(session("backends = 1 # starlark-lint-disable unused-assign\n"), ["1:1 shadowed-builtin"]);
}

#[test]
fn common_code_is_not_reported() {
    for text in [
        "def on_request(request):\n    if request.name == \"x\":\n        fail(\"no\")\n",
        "def handler(args):\n    return 1\n",
        "def on_requests(request):\n    return None\n\ndef on_request(request):\n    return on_requests(request)\n",
        "def on_requests(r): # starlark-lint-disable misspelt-hook\n    return r\n",
        "def f(config):\n    return config\n",
        "\"\"\"About the script.\"\"\"\nsettings = config()\nfor name, backend in backends().items():\n    print(backend)\n",
        "x = [json for json in []]\n",
        "x = metadata(\"a\", \"A\", {}, {\"readOnlyHint\": True, \"title\": \"A\"})\n",
        "x = metadata(\"a\", \"A\", {}, {\"mine\": True}) # starlark-lint-disable unknown-annotation\n",
        "# starlark-lint-disable shadowed-builtin\ndef metadata(a, b, c, d):\n    return d\n\nx = metadata(1, 2, 3, {\"mine\": 1})\n",
        "def f(args):\n    return elicit(\"Sure?\", when_unavailable = \"error\").action\n",
        "def f(args, **options):\n    return elicit(\"Sure?\", **options).action\n",
        "def f(args): # starlark-lint-disable when-unavailable\n    return elicit(\"Sure?\").action # starlark-lint-disable when-unavailable\n",
    ] {
        assert_eq!(session(text), [""; 0], "{text}");
    }
}

#[test]
fn a_built_in_of_another_role_gets_a_hint() {
    let hint = |role, text: &str| alone(&Source::new("x.star", text), role)[0].hint.clone();
    assert_eq!(hint(Role::Session, "x = Extension\n").as_deref(), Some("`Extension` is available in extensions only"));
    assert_eq!(
        hint(Role::Extension, "x = backends()\n").as_deref(),
        Some("`backends` is available in session scripts only")
    );
    assert_eq!(hint(Role::Session, "backend()\n").as_deref(), Some("did you mean `backends`?"));
}

#[test]
fn a_suggested_name_can_be_used_where_it_is_suggested() {
    for (text, hint) in [
        ("for name in backends():\n    print(nmae)\n", Some("did you mean `name`?")),
        ("print([itme for item in []])\n", Some("did you mean `item`?")),
        ("def f(argument):\n    return lambda option: optoin\n", Some("did you mean `option`?")),
        ("def f(argument):\n    return argumnet\n", Some("did you mean `argument`?")),
        // What is local elsewhere is not meant.
        ("print([number for number in []])\nprint(numbre)\n", None),
        ("def f(quantity):\n    return quantity\n\ndef g():\n    return quantitiy\n", None),
    ] {
        let found = alone(&Source::new("x.star", text), Role::Session);
        let undefined = found.iter().find(|problem| problem.rule == Some("using-undefined")).unwrap();
        assert_eq!(undefined.hint.as_deref(), hint, "{text}");
    }
}

#[test]
fn embedded_scripts_have_no_problems() {
    for preset in presets::PRESETS {
        assert_eq!(found(Role::Session, preset.source), [""; 0], "{}", preset.full_name());
    }
    for file in presets::LIBRARY {
        assert_eq!(found(Role::Session, file.text), [""; 0], "{}", file.name);
    }
    for extension in proxy_engine::extension::bundled::BUNDLED {
        assert_eq!(found(Role::Extension, extension.source), [""; 0], "{}", extension.name);
    }
}

#[test]
fn names_of_other_proxies_lead_to_what_is_meant() {
    for (text, hint) in
        [("x = scrub_pii(\"a\")\n", "`redact(text)`"), ("enforce_cedar_policies()\n", "cedar: { policies:")]
    {
        let found = alone(&Source::new("policy.star", text), Role::Session);
        assert!(found[0].hint.as_ref().is_some_and(|found| found.contains(hint)), "{found:?}");
    }
}
