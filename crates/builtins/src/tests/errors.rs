use super::*;

#[test]
fn people_who_know_python_get_a_hint() {
    for (script, hint) in [
        ("while True:\n    pass\n", "Starlark has no `while`"),
        ("def f():\n    try:\n        pass\n", "`attempt(f, args)`"),
        ("class A:\n    pass\n", "Starlark has no classes"),
        ("import os\n", "Starlark has no imports"),
        ("x = any(a for a in [1])\n", "Starlark has no generator expressions"),
        ("x = sorted((a for a in [1]))\n", "Starlark has no generator expressions"),
        ("x = '%.2f' % 1.5\n", "`%` does not support width and precision"),
        ("list = [1]\nx = list((1, 2))\n", "`list` holds a value here"),
        (
            "for metadata, call in backends()['docs'].tools():\n    metadata('a', '', {}, {})\n",
            "`metadata` holds a value here",
        ),
        ("config = config()\n", "if you mean the built-in, rename the variable"),
        ("def f():\n    digest = digest(1)\nf()\n", "if you mean the built-in, rename the variable"),
    ] {
        let text = fault(script);
        assert!(text.contains("hint: ") && text.contains(hint), "{script}: {text}");
        assert!(text.contains("policy.star:"), "{text}");
    }
}

#[test]
fn an_error_looks_like_this() {
    let text = fault("def check(name):\n    if not name:\n        fail('a name is missing')\n\ncheck('')\n");
    let expected = "\
error: a name is missing
 --> policy.star:3:9
  |
3 |         fail('a name is missing')
  |         ^^^^^^^^^^^^^^^^^^^^^^^^^
call stack:
  policy.star:5 in top level
  policy.star:3 in check";
    assert_eq!(text, expected);
}

#[test]
fn every_built_in_of_ours_is_documented() {
    use starlark::docs::{DocItem, DocMember};
    let documentation = crate::session().documentation();
    let ours = [
        "backends",
        "publish",
        "metadata",
        "instructions",
        "config",
        "log",
        "print",
        "error",
        "fail",
        "digest",
        "bind",
        "attempt",
        "unwrap",
    ];
    for name in ours {
        let Some(DocItem::Member(DocMember::Function(function))) = documentation.members.get(name) else {
            panic!("`{name}` is no function");
        };
        assert!(function.docs.is_some(), "`{name}` has no documentation");
    }
    for name in ["json", "re"] {
        let Some(DocItem::Module(module)) = documentation.members.get(name) else { panic!("`{name}` is no module") };
        for (member, item) in &module.members {
            let DocItem::Member(DocMember::Function(function)) = item else { continue };
            assert!(function.docs.is_some(), "`{name}.{member}` has no documentation");
        }
    }
}

#[test]
fn publish_belongs_to_the_session_script() {
    let folder = std::env::temp_dir().join(format!("publish-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("lib.star", "def add():\n    publish(metadata('a', '', {}, {}), print)\n");
    write("bad.star", "publish(metadata('a', '', {}, {}), print)\nx = 1\n");
    let run = |text: &str| {
        let snapshot = Arc::new(Snapshot::default());
        run_session_script(
            &Source::new("policy.star", text),
            &folder,
            snapshot,
            Arc::default(),
            proxy_model::SurfaceKey::anonymous(),
            &Limits::SESSION_SCRIPT,
        )
        .map_err(|error| error.diagnostic)
    };
    let plan = run("load('//lib.star', 'add')\nadd()\n").unwrap();
    assert_eq!(names(&plan), ["a"]);
    assert_eq!(plan.files.len(), 1);
    let error = run("load('bad.star', 'x')\n").unwrap_err();
    assert!(error.message.contains("publish() works only in the session script itself"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}
