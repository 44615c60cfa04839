//! `proxy exec`: the same scripts from the shell.

use serde_json::json;

use super::{empty, world};

#[tokio::test]
async fn a_script_runs_over_the_published_tools() {
    let world = world().file("join.star", "print('two of them')\nrows = parallel([lambda n = n: echo(n = n)['n'] for n in data['numbers']])\nreturn rows\n");
    let finished = world.run(["exec", "join.star", "--data", r#"{"numbers":[1,2]}"#]).await.expect(0);
    assert_eq!(finished.stdout, "[\n  1,\n  2\n]\n");
    assert!(finished.stderr.contains("two of them"), "{}", finished.stderr);
    let finished = world.run(["exec", "join.star", "--data", r#"{"numbers":[3]}"#, "--json"]).await.expect(0);
    assert_eq!(finished.json(), json!({"result": [3], "printed": "two of them\n"}));
}

#[tokio::test]
async fn a_script_can_stand_on_the_command_line() {
    let world = world();
    assert_eq!(world.run(["exec", "-e", "return echo(n = 7)['n']"]).await.expect(0).stdout, "7\n");
    let both = world.run(["exec", "file.star", "-e", "return 1"]).await.expect(2);
    assert!(both.stderr.contains("cannot be used with"), "{}", both.stderr);
    world.run(["exec"]).await.expect(2);
}

#[tokio::test]
async fn what_goes_wrong_is_told_and_the_exit_code_says_so() {
    let world = world()
        .file("fails.star", "x = 1\nreturn ecko(n = x)\n")
        .file("tool.star", "return fail(message = 'no')")
        .file("empty.star", "# nothing\n");
    for (file, expected) in [
        ("fails.star", "Variable `ecko` not found, did you mean `echo`? (line 2 of the script)"),
        ("tool.star", "`fail`"),
        ("empty.star", "the script is empty"),
    ] {
        let finished = world.run(["exec", file]).await.expect(1);
        assert!(finished.stderr.contains(expected), "{file}: {}", finished.stderr);
    }
    let finished = world.run(["exec", "none.star"]).await.expect(2);
    assert!(finished.stderr.contains("cannot read `none.star`"), "{}", finished.stderr);
    let finished = world.run(["exec", "fails.star", "--data", "[1]"]).await.expect(2);
    assert!(finished.stderr.contains("--data must be a JSON object"), "{}", finished.stderr);
}

#[tokio::test]
async fn limits_of_the_config_hold_here_too_and_code_mode_is_gone_through() {
    let world = empty().file("spin.star", "return max(range(2000000000))");
    let world = world.file("proxy.yaml", "sessionInit: { preset: code-mode }\ncodeMode: { timeout: 1s }\n");
    let finished = world.run(["exec", "spin.star"]).await.expect(1);
    assert!(finished.stderr.contains("its limit of 1 s (`codeMode.timeout`)"), "{}", finished.stderr);
}
