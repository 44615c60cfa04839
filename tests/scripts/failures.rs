//! What a script's author is told when it cannot run.

use super::{refused, world};

#[tokio::test]
async fn a_function_that_reads_a_loop_variable_is_refused_with_the_cure() {
    let text = refused(
        "for meta, call in backends()['fake'].tools():\n    publish(meta, lambda args: call(args | {'x': 1}))\n",
    )
    .await;
    assert_eq!(
        text,
        "\
error[loop-capture]: this function reads `call`, which the loop around it assigns: it would see only its last value
 --> policy.star:2:32
  |
2 |     publish(meta, lambda args: call(args | {'x': 1}))
  |                                ^^^^
  |
  = hint: bind it now: `lambda args, call = call: ...`, or make the function in `def make(call): ...`"
    );
}

#[tokio::test]
async fn so_is_one_that_reads_it_after_the_loop() {
    let text =
        refused("for meta, call in backends()['fake'].tools():\n    pass\n\ndef later(args):\n    return call(args)\n")
            .await;
    assert!(
        text.starts_with("error[loop-capture]: this function reads `call`, the target of a `for` at the top level: "),
        "{text}"
    );
    assert!(text.contains("--> policy.star:5:12"), "{text}");
    assert!(text.contains("hint: pass it as a parameter: `def make(call): "), "{text}");
}

#[tokio::test]
async fn an_error_shows_the_line_and_the_way_there() {
    let text = refused("def check(name):\n    if not name:\n        fail('a name is missing')\n\ncheck('')\n").await;
    assert_eq!(
        text,
        "\
error: a name is missing
 --> policy.star:3:9
  |
3 |         fail('a name is missing')
  |         ^^^^^^^^^^^^^^^^^^^^^^^^^
call stack:
  policy.star:5 in top level
  policy.star:3 in check"
    );
}

#[tokio::test]
async fn people_who_know_python_get_a_hint() {
    let text = refused("while True:\n    pass\n").await;
    assert!(text.contains("--> policy.star:1:1"), "{text}");
    assert!(text.contains("hint: Starlark has no `while`; loop over a bounded range"), "{text}");
}

#[tokio::test]
async fn calling_a_tool_at_the_top_level_says_where_it_belongs() {
    let text = refused("meta, call = backends()['fake'].tools()[0]\ncall({})\n").await;
    assert!(
        text.starts_with(
            "error: calling the tool `echo` is possible only while a call is handled, not at the top level"
        ),
        "{text}"
    );
    assert!(text.contains("policy.star:2:1"), "{text}");
}

#[tokio::test]
async fn a_client_that_waits_learns_that_the_script_failed() {
    let mut proxy = world("echo", "fail('broken on purpose')\n").stdio();
    let status = proxy.client.program.exit().await;
    assert_eq!(status.code(), Some(1));
    assert!(proxy.client.stderr().whole().await.contains("error: broken on purpose"));
}

#[tokio::test]
async fn a_write_that_would_change_nothing_is_refused_with_the_cure() {
    let text = refused("for meta, call in backends()['fake'].tools():\n    meta.parameters['x'] = 1\n").await;
    assert_eq!(
        text,
        "\
error[lost-write]: this changes nothing: `meta.parameters` is a copy, and metadata cannot be changed
 --> policy.star:2:5
  |
2 |     meta.parameters['x'] = 1
  |     ^^^^^^^^^^^^^^^^^^^^
  |
  = hint: change a copy and make new metadata: `x = meta.parameters`, `x[...] = ...`, then `meta.replace(parameters = x)`"
    );
    let text = refused("tool = backends()['fake'].tools()[0][0]\ntool.annotations['readOnlyHint'] = True\n").await;
    assert!(text.starts_with("error[lost-write]: this changes nothing: `tool.annotations` is a copy"), "{text}");
    assert!(text.contains("--> policy.star:2:1") && text.contains("`tool.replace(annotations = x)`"), "{text}");
    for script in ["config()['params'] = {}\n", "\nconfig()['params']['x'] = 1\n"] {
        let text = refused(script).await;
        assert!(text.starts_with("error[lost-write]: this changes nothing: `config()` cannot be changed"), "{text}");
        assert!(text.contains("--> policy.star:") && text.contains("hint: keep a copy and change that"), "{text}");
    }
    let text = refused("settings = config()\nsettings['params'] = {}\n").await;
    assert!(text.starts_with("error: `config()` cannot be changed\n --> policy.star:2:1"), "{text}");
    assert!(text.contains("hint: keep a copy and change that"), "{text}");
    let text = refused("meta = metadata('a', '', {}, {})\nmeta.name = 'b'\n").await;
    assert!(
        text.starts_with("error: `.name` cannot be set: metadata cannot be changed\n --> policy.star:2:1"),
        "{text}"
    );
    assert!(text.contains("hint: make a changed copy: `meta = meta.replace(name = ...)`"), "{text}");
}

#[tokio::test]
async fn a_handler_that_changes_a_value_of_the_script_is_told_of_state() {
    let script = "seen = []\ndef handler(args):\n    seen.append(1)\npublish(metadata('a', '', {}, {}), handler)\n";
    let mut proxy = super::serving("echo", script).await;
    assert_eq!(
        proxy.error_of("a", "{}").await,
        "this value is frozen: a script's values cannot change once it has run; keep changing values in `state` \
         (policy.star:3)"
    );
}
