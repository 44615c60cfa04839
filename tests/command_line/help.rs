//! `--help`, `--version` and completions. The lists of subcommands and options come from clap.

use clap::Command;
use starlark_mcp_proxy::cli;

use super::empty;

const SCREEN: (usize, usize) = (80, 24);

fn subcommands(command: &Command) -> Vec<Command> {
    command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help").cloned().collect()
}

#[tokio::test]
async fn the_help_has_every_command_and_fits_one_screen() {
    let alone = empty().run([]).await.expect(2);
    let asked = empty().run(["--help"]).await.expect(0);
    assert_eq!(alone.stderr.trim_end(), asked.stdout.trim_end());
    let help = asked.stdout;
    for command in subcommands(&cli::command()) {
        let (name, about) = (command.get_name(), command.get_about().map(ToString::to_string).unwrap_or_default());
        let is_own = |line: &&str| line.split_whitespace().take(2).any(|word| word == name) && line.contains(&about);
        let is_beside =
            |line: &str| line.split_once("; also ").is_some_and(|(_, also)| also.split(", ").any(|also| also == name));
        assert!(help.lines().any(|line| is_own(&line) || is_beside(line)), "{name}:\n{help}");
    }
    let (width, height) = SCREEN;
    assert!(help.lines().count() < height, "with the next prompt it must fit {height} lines:\n{help}");
    for line in help.lines() {
        assert!(line.chars().count() <= width, "{line}");
    }
}

#[tokio::test]
async fn every_command_has_help_of_its_own() {
    for command in subcommands(&cli::command()) {
        let name = command.get_name();
        let help = empty().run([name, "--help"]).await.expect(0);
        assert!(help.stdout.contains(&format!("Usage: proxy {name}")), "{}", help.stdout);
    }
}

/// One short line without a full stop, as in other command-line programs.
#[test]
fn every_description_is_a_short_line() {
    let mut commands = vec![cli::command()];
    let mut checked = 0;
    while let Some(command) = commands.pop() {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        assert!(!about.is_empty() && !about.ends_with('.') && about.len() <= 72, "{}: {about:?}", command.get_name());
        for argument in command.get_arguments() {
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            let named = format!("{} {}: {help:?}", command.get_name(), argument.get_id());
            assert!(!help.is_empty() && !help.ends_with('.') && !help.contains('\n'), "{named}");
        }
        commands.extend(subcommands(&command));
        checked += 1;
    }
    assert!(checked >= 18, "only {checked} commands were found");
}

#[tokio::test]
async fn a_wrong_word_is_a_usage_error_with_the_right_one() {
    let wrong = empty().run(["list-tool"]).await.expect(2);
    assert!(wrong.stderr.contains("'list-tools'"), "{}", wrong.stderr);
    empty().run(["serve", "--insecure"]).await.expect(2);
    let wrong = empty().run(["list-presets", "--log", "infos"]).await.expect(2);
    assert_eq!(
        wrong.stderr,
        "error: unknown log level `infos` (known: off, error, warn, info, debug, trace); did you mean `info`?\n"
    );
}

#[tokio::test]
async fn it_knows_its_version() {
    let version = empty().run(["--version"]).await.expect(0);
    assert_eq!(version.stdout, concat!("proxy ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[tokio::test]
async fn completions_for_every_shell() {
    let commands = subcommands(&cli::command());
    for (shell, mark) in [("bash", "complete -F"), ("zsh", "#compdef proxy"), ("fish", "complete -c proxy")] {
        let script = empty().run(["completions", shell]).await.expect(0);
        assert!(script.stdout.contains(mark), "{shell}");
    }
    // The scripts ask the program itself.
    let offered = empty().run(["completions", "fish", "--", "proxy", ""]).await.expect(0).stdout;
    let offered: Vec<&str> = offered.lines().filter_map(|line| line.split('\t').next()).collect();
    for command in &commands {
        assert!(offered.contains(&command.get_name()), "{} is not completed", command.get_name());
    }
    empty().run(["completions", "cmd"]).await.expect(2);
}
