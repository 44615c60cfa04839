//! Finding and running tests, and what is said of each.

use super::{fails, folder, passes, tested};
use crate::support::finished::Finished;

#[tokio::test]
async fn tests_that_pass_are_named_and_counted() {
    let finished =
        tested("def test_one():\n    testing.eq(1, 1)\n\ndef test_two():\n    pass\n\ndef helper():\n    fail()\n");
    let finished = finished.await.expect(0);
    let (told, summary) = finished.stdout.split_at(finished.stdout.find("2 tests").expect("a summary"));
    assert_eq!(told, "ok    a_test.star::test_one\nok    a_test.star::test_two\n");
    assert!(summary.starts_with("2 tests, all passed, in ") && summary.ends_with(" s\n"), "{summary}");
    assert_eq!(finished.stderr, "");
}

#[tokio::test]
async fn a_failing_assertion_shows_its_line_and_what_was_printed() {
    let text = "load(\"lib\", \"double\")\n\ndef test_double():\n    print(\"two is\", double(2))\n    testing.eq(double(2), 5, \"twice two\")\n";
    let proxy = folder(&[("a_test.star", text), ("lib.star", "def double(x):\n    return x * 2\n")]);
    let finished = proxy.run(["test", "a_test.star"]).await.expect(1);
    let (told, summary) = finished.stdout.split_at(finished.stdout.find("0 passed").expect("a summary"));
    assert_eq!(
        told,
        "\
FAIL  a_test.star::test_double
error: twice two: expected 5, got 4
 --> a_test.star:5:5
  |
5 |     testing.eq(double(2), 5, \"twice two\")
  |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
printed:
  two is 4

"
    );
    assert!(summary.starts_with("0 passed, 1 failed in "), "{summary}");
}

#[tokio::test]
async fn long_values_are_compared_line_by_line() {
    let text = "
def test_long():
    got = {\"content\": [{\"type\": \"text\", \"text\": \"there were three issues open\"}], \"isError\": True}
    testing.eq(got, {\"content\": [{\"type\": \"text\", \"text\": \"there were two issues open\"}], \"isError\": True})
";
    let told = fails(text).await;
    let (_, note) = told.split_once("  = note: ").unwrap_or_else(|| panic!("{told}"));
    assert_eq!(
        note,
        "`-` expected, `+` got
            {
          -   \"content\": [{\"type\": \"text\", \"text\": \"there were two issues open\"}],
          +   \"content\": [{\"type\": \"text\", \"text\": \"there were three issues open\"}],
              \"isError\": True,
            }"
    );
    let told = fails("def test_text():\n    testing.eq(\"a\\nb\\nc\", \"a\\nB\\nc\")\n").await;
    assert!(told.contains("  a\n") && told.contains("- B\n") && told.contains("+ b\n"), "{told}");
}

#[tokio::test]
async fn every_assertion_says_what_it_found() {
    for (assertion, expected) in [
        ("testing.eq([1], (1,))", "error: expected (1,), got [1]"),
        ("testing.ne(1, 1, 'ids')", "error: ids: both values are 1"),
        ("testing.is_true([])", "error: expected a truthy value, got []"),
        ("testing.is_false(1, message = 'empty')", "error: empty: expected a falsy value, got 1"),
        ("testing.contains('abc', 'x')", "error: \"x\" is not in \"abc\""),
        ("testing.contains({'a': 1}, 'b', 'keys')", "error: keys: \"b\" is not in {\"a\": 1}"),
        ("testing.fail('not yet')", "error: not yet"),
        ("testing.raises(lambda: 1)", "error: expected an error, got 1"),
        ("testing.raises(lambda: fail('oh'), 'ah')", "error: expected an error that contains \"ah\", got \"oh\""),
        ("fail('stop')", "error: stop"),
        ("{}['x']", "error: Key `\"x\"` was not found"),
    ] {
        let told = fails(&format!("def test_it():\n    {assertion}\n")).await;
        assert!(told.starts_with(expected), "{assertion}: {told}");
        assert!(told.contains("a_test.star:2:"), "{assertion}: {told}");
    }
    passes(
        "
def test_all():
    testing.eq({\"a\": [1, None]}, {\"a\": [1, None]})
    testing.ne(1, \"1\", \"types\")
    testing.is_true([0])
    testing.is_false(None)
    testing.contains([1, 2], 2)
    testing.contains(\"concatenate\", \"cat\")
    testing.eq(testing.raises(lambda: fail(\"oh no\"), \"oh\"), \"oh no\")
    testing.raises(lambda: testing.fail(\"inner\"), \"inner\")
",
    )
    .await;
}

#[tokio::test]
async fn tests_do_not_see_what_others_change() {
    passes(
        "
seen = []
shared = {\"n\": 0}

def test_one():
    seen.append(1)
    shared[\"n\"] += 1
    testing.eq((seen, shared), ([1], {\"n\": 1}))

def test_two():
    seen.append(2)
    shared[\"n\"] += 1
    testing.eq((seen, shared), ([2], {\"n\": 1}))
",
    )
    .await;
}

#[tokio::test]
async fn a_test_that_never_ends_is_stopped_and_the_others_go_on() {
    let finished = tested(
        "def test_runs_away():\n    for i in range(1000000000):\n        pass\n\ndef test_deep():\n    def f(n):\n        return f(n + 1)\n    f(0)\n\ndef test_after():\n    pass\n",
    );
    let finished = finished.await.expect(1);
    // Whichever it meets first.
    let away = "FAIL  a_test.star::test_runs_away\nerror: the script used more than its limit of ";
    assert!(finished.stdout.contains(away) && finished.stdout.contains(" --> a_test.star:2:5"), "{}", finished.stdout);
    assert!(
        finished.stdout.contains("error: the script used more than its limit of 200 nested calls"),
        "{}",
        finished.stdout
    );
    assert!(finished.stdout.contains("ok    a_test.star::test_after\n1 passed, 2 failed in "), "{}", finished.stdout);
}

#[tokio::test]
async fn a_file_that_cannot_be_loaded_is_a_failure_and_the_others_run() {
    let proxy = folder(&[
        ("a_test.star", "def test_a():\n    pass\n"),
        ("b_test.star", "print(\"so far\")\nx = 1 +\n"),
        ("c_test.star", "load(\"nowhere\", \"x\")\n"),
        ("d_test.star", "print(\"so far\")\nfail(\"no\")\n"),
    ]);
    let finished = proxy.run(["test", "."]).await.expect(1);
    for expected in [
        "ok    a_test.star::test_a\n",
        "FAIL  b_test.star\nerror: Parse error",
        "FAIL  c_test.star\nerror: cannot load `nowhere`: there is no such file\n --> c_test.star:1:6",
        "FAIL  d_test.star\nerror: no\n --> d_test.star:2:1\n  |\n2 | fail(\"no\")\n  | ^^^^^^^^^^\nprinted:\n  so far\n",
        "\n1 passed, 3 failed in ",
    ] {
        assert!(finished.stdout.contains(expected), "{expected}\n---\n{}", finished.stdout);
    }
}

#[tokio::test]
async fn a_filter_chooses_by_file_and_name() {
    let text = "def test_red():\n    pass\n\ndef test_green():\n    pass\n";
    let proxy = folder(&[("a_test.star", text), ("b_test.star", text)]);
    let names = async |filter: &str| -> Vec<String> {
        let finished = proxy.run(["test", ".", "--filter", filter]).await.expect(0);
        let lines = finished.stdout.lines().filter_map(|line| line.strip_prefix("ok    "));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(names("red").await, ["a_test.star::test_red", "b_test.star::test_red"]);
    assert_eq!(names("b_test.star::test_g").await, ["b_test.star::test_green"]);
    let none = proxy.run(["test", ".", "--filter", "blue"]).await.expect(2);
    assert!(none.stderr.starts_with("error: no test name contains `blue`\n"), "{}", none.stderr);
}

#[tokio::test]
async fn without_paths_tests_are_looked_for_where_the_config_points() {
    let pass = "def test_it():\n    pass\n";
    let run = async |config: &str, files: &[&str]| -> Finished {
        let proxy = files
            .iter()
            .fold(crate::support::proxy::Proxy::with_config_text(config), |proxy, name| proxy.file(name, pass));
        proxy.run(["test"]).await
    };
    let names = |finished: Finished| -> Vec<String> {
        finished.stdout.lines().filter_map(|line| line.strip_prefix("ok    ")).map(str::to_owned).collect()
    };
    let files = [
        "scripts/a_test.star",
        "extensions/deep/b_test.star",
        "tools/c_test.star",
        "other/d_test.star",
        "policy/e_test.star",
    ];
    // A variable that is not set here is no matter of the tests.
    let config = "mcpServers: {x: {command: x, env: {KEY: '${NOT_SET_HERE}'}}}\nextensions: {paths: ['tools/*.star']}\nsessionInit: {scriptFile: policy/main.star}\n";
    assert_eq!(
        names(run(config, &[&files[..], &["policy/main.star"]].concat()).await.expect(0)),
        [
            "extensions/deep/b_test.star::test_it",
            "policy/e_test.star::test_it",
            "scripts/a_test.star::test_it",
            "tools/c_test.star::test_it"
        ]
    );
    assert_eq!(
        names(run("", &["other/d_test.star", "x_test.star"]).await.expect(0)),
        ["other/d_test.star::test_it", "x_test.star::test_it"]
    );
    let nothing = run("", &["a.star"]).await.expect(2);
    assert_eq!(
        nothing.stderr,
        "error: no `*_test.star` file in `.`\n |\n = hint: a test is a function `test_...()` in a file whose name ends in `_test.star`; pass files or folders with `proxy test PATH`\n"
    );
}

#[tokio::test]
async fn what_is_no_test_is_refused() {
    let proxy = folder(&[("a.star", ""), ("a_test.star", "x = 1\n")]);
    let finished = proxy.run(["test", "a.star"]).await.expect(2);
    assert_eq!(
        finished.stderr,
        "error: `a.star` is not a test file: its name does not end in `_test.star`\n |\n = hint: did you mean `a_test.star`?\n"
    );
    let finished = proxy.run(["test", "nowhere"]).await.expect(2);
    assert_eq!(finished.stderr, "error: file or folder `nowhere` does not exist\n");
    let finished = proxy.run(["test", "a_test.star"]).await.expect(2);
    assert!(finished.stderr.starts_with("error: no function `test_*` in 1 test file\n"), "{}", finished.stderr);
}

#[tokio::test]
async fn files_are_loaded_from_the_config_s_folder_and_from_beside() {
    let proxy = folder(&[
        (
            "deep/a_test.star",
            "load(\"//lib.star\", \"x\")\nload(\"near.star\", \"y\")\nload(\"@proxy//lib@1.star\", \"aggregate\")\n\ndef test_it():\n    testing.eq((x, y, type(aggregate)), (1, 2, \"function\"))\n",
        ),
        ("deep/near.star", "y = 2\n"),
        ("lib.star", "x = 1\n"),
    ]);
    proxy.run(["test", "deep"]).await.expect(0);
}
