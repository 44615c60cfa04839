use super::empty;

const COMMANDS: [&str; 10] = [
    "serve",
    "init",
    "check",
    "list-presets",
    "show-preset",
    "list-servers",
    "list-tools",
    "call",
    "find",
    "completions",
];

#[tokio::test]
async fn alone_it_prints_its_help() {
    let alone = empty().run([]).await.expect(2);
    let asked = empty().run(["--help"]).await.expect(0);
    for command in COMMANDS {
        assert!(alone.stderr.contains(&format!("\n  {command} ")), "{}", alone.stderr);
        assert!(asked.stdout.contains(&format!("\n  {command} ")), "{}", asked.stdout);
    }
}

#[tokio::test]
async fn every_command_has_help_of_its_own() {
    for command in COMMANDS {
        let help = empty().run([command, "--help"]).await.expect(0);
        assert!(help.stdout.contains(&format!("Usage: proxy {command}")), "{}", help.stdout);
    }
}

#[tokio::test]
async fn a_wrong_word_is_a_usage_error_with_the_right_one() {
    let wrong = empty().run(["list-tool"]).await.expect(2);
    assert!(wrong.stderr.contains("'list-tools'"), "{}", wrong.stderr);
    empty().run(["serve", "--insecure"]).await.expect(2);
    let wrong = empty().run(["list-presets", "--log", "infos"]).await.expect(2);
    assert_eq!(
        wrong.stderr,
        "error: `infos` is not a log level (off, error, warn, info, debug, trace); did you mean `info`?\n"
    );
}

#[tokio::test]
async fn it_knows_its_version() {
    let version = empty().run(["--version"]).await.expect(0);
    assert_eq!(version.stdout, concat!("proxy ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[tokio::test]
async fn completions_for_every_shell() {
    for (shell, mark) in [("bash", "complete -F"), ("zsh", "#compdef proxy"), ("fish", "complete -c proxy")] {
        let script = empty().run(["completions", shell]).await.expect(0);
        assert!(script.stdout.contains(mark) && script.stdout.contains("list-tools"), "{shell}");
    }
    empty().run(["completions", "cmd"]).await.expect(2);
}
