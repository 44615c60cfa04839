//! Which functions may read which variables.

use crate::Source;
use crate::loading::parse::parse;

fn fault(text: &str) -> Option<String> {
    parse(&Source::new("policy.star", text)).err().map(|diagnostic| diagnostic.to_string())
}

#[test]
fn a_lambda_in_a_loop_may_not_read_what_the_loop_assigns() {
    let text = fault("for meta, call in tools:\n    publish(meta, lambda args: call(args))\n").unwrap();
    assert!(
        text.contains("this function reads `call`, which the loop around it assigns: it would see only its last value"),
        "{text}"
    );
    assert!(text.contains("policy.star:2:32"), "{text}");
    assert!(
        text.contains(
            "hint: bind it now: `lambda args, call = call: ...`, or make the function in `def make(call): ...`"
        ),
        "{text}"
    );
}

#[test]
fn refused() {
    for script in [
        "def f(tools):\n    for m, h in tools:\n        publish(m, lambda a: h(a))\n",
        "for m, h in tools:\n    name = m.name\n    publish(m, lambda a: name)\n",
        "for m, h in tools:\n    def handler(args):\n        return h(args)\n    publish(m, handler)\n",
        "x = [lambda a: h(a) for m, h in tools]\n",
        "x = {m: lambda a: h(a) for m, h in tools}\n",
        "x = [[lambda: (a, b) for b in bs] for a in as_]\n",
        // any function, the target of a top-level `for`
        "def late(args):\n    return call(args)\nfor meta, call in tools:\n    publish(meta, late)\n",
        "if True:\n    for x in xs:\n        for y in ys:\n            pass\nf = lambda: y\n",
        // a lambda inside a free lambda lives on
        "for x in xs:\n    y = map(lambda a: (lambda: x), ys)\n",
        // inside an f-string and an index
        "for x in xs:\n    f = lambda a: f'{x}'\n",
        "for x in xs:\n    f = lambda a: a[x]\n",
    ] {
        assert!(fault(script).is_some(), "{script}");
    }
}

#[test]
fn allowed() {
    for script in [
        // bound when the function is made
        "for meta, call in tools:\n    publish(meta, lambda args, call = call: call(args))\n",
        // a factory
        "def wrap(call):\n    return lambda args: call(args)\nfor meta, call in tools:\n    publish(meta, wrap(call))\n",
        // run at once
        "for x in xs:\n    y = sorted(ys, key = lambda a: a == x)\n",
        "for x in xs:\n    y = attempt(lambda: x)\n",
        "x = [min(b, key = lambda c: c - a) for a, b in xs]\n",
        // a variable of its own
        "for x in xs:\n    f = lambda x: x\n",
        "def f():\n    for x in xs:\n        pass\n    return x\n",
        "for x in xs:\n    def g():\n        for x in [1]:\n            pass\n        return x\n",
        "for x in xs:\n    f = lambda: [x for x in [1]]\n",
        // the loop is over when the function is made
        "def f():\n    for x in xs:\n        pass\n    return lambda: x\n",
        // what the loop runs over is not assigned by it
        "for x in map(lambda a: a, xs):\n    pass\n",
        // a top-level body variable, read by a function outside the loop
        "for x in xs:\n    total = 1\ndef f():\n    return total\n",
        "x = [g(y) for y in ys]\nf = lambda: x\n",
    ] {
        assert_eq!(fault(script), None, "{script}");
    }
}

#[test]
fn a_target_of_a_top_level_loop_has_its_own_message() {
    let text =
        fault("def late(args):\n    return call(args)\nfor meta, call in tools:\n    publish(meta, late)\n").unwrap();
    assert!(text.contains("this function reads `call`, the target of a `for` at the top level"), "{text}");
    assert!(text.contains("pass it as a parameter"), "{text}");
}
