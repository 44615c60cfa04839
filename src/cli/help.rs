//! The layout of `proxy --help`, with the subcommands in groups on one screen (clap has no headings for subcommands), and
//! the examples in the help of each subcommand.

use std::fmt::Write;

use clap::Command;

/// Every subcommand, by group, in the order of `proxy --help`. Each line has a command and similar ones, so that all
/// of them fit on one screen.
const GROUPS: [(&str, &[&[&str]]); 5] = [
    (
        "Serve",
        &[
            &["serve", "lock"],
            &["status", "logs", "calls", "sessions", "console"],
            &["login", "logout", "audit", "identity-key"],
        ],
    ),
    (
        "Inspect",
        &[
            &["list-servers", "restart"],
            &["list-tools", "list-resources", "list-prompts"],
            &["find"],
            &["types", "tokens"],
        ],
    ),
    ("Call", &[&["call", "read", "prompt"], &["exec", "repl"]]),
    (
        "Scripts",
        &[&["check", "explain"], &["test", "backtest"], &["new", "author"], &["list-presets", "show-preset"], &["lsp"]],
    ),
    ("Setup", &[&["init", "completions", "config-schema"], &["install", "uninstall", "doctor"]]),
];

const OPTIONS: &str = "--log <LEVEL>, --log-format <FORMAT>, --log-file <FILE>, -v, --verbose,
  -q, --quiet, --color <WHEN>, -h, --help, -V, --version; also <COMMAND> --help";

/// The help template of the top-level command. The descriptions come from clap.
pub(super) fn template(command: &Command) -> String {
    let header = command.get_styles().get_header();
    let literal = command.get_styles().get_literal();
    let group_width = GROUPS.iter().map(|(group, _)| group.len()).max().unwrap_or(0);
    let firsts = GROUPS.iter().flat_map(|(_, lines)| *lines).filter_map(|names| names.first());
    let name_width = firsts.map(|name| name.len()).max().unwrap_or(0);
    let mut text = "{about}\n\n{usage-heading} {usage}\n\n".to_owned();
    for (group, lines) in GROUPS {
        for (position, names) in lines.iter().enumerate() {
            let Some((name, others)) = names.split_first() else { continue };
            let group = if position == 0 { group } else { "" };
            let about = command.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
            let mut about = about.unwrap_or_default();
            if !others.is_empty() {
                let _ = write!(about, "; also {}", others.join(", "));
            }
            let _ = writeln!(
                text,
                "{header}{group:group_width$}{header:#}  {literal}{name:name_width$}{literal:#}  {about}"
            );
        }
    }
    let _ = write!(text, "\n{header}Options:{header:#} {OPTIONS}");
    text
}

/// Adds the examples to the help of each subcommand.
pub(super) fn with_examples(command: Command) -> Command {
    let header = *command.get_styles().get_header();
    EXAMPLES.iter().fold(command, |command, (name, examples)| {
        let lines: String = examples.iter().map(|example| format!("\n  $ {example}")).collect();
        command.mut_subcommand(name, |subcommand| subcommand.after_help(format!("{header}Examples:{header:#}{lines}")))
    })
}

/// Typical uses of each subcommand.
const EXAMPLES: [(&str, &[&str]); 39] = [
    (
        "serve",
        &[
            "proxy serve",
            "proxy serve --http 8080",
            "proxy serve --server time=\"uvx mcp-server-time\" --script policy.star",
        ],
    ),
    ("status", &["proxy status", "proxy status --json"]),
    ("lock", &["proxy lock", "proxy lock --check", "proxy lock github/create_issue --yes"]),
    ("logs", &["proxy logs github", "proxy logs github --json"]),
    (
        "calls",
        &[
            "proxy calls --follow",
            "proxy calls --follow --filter server=github --filter 'ms>500'",
            "proxy calls 9c1d4f3a",
            "proxy calls --record calls.jsonl",
            "proxy calls --as-test 9c1d4f3a > policy_test.star",
        ],
    ),
    ("sessions", &["proxy sessions", "proxy sessions end 5e1f0c7a92b34d18", "proxy sessions end --as-user ann"]),
    ("console", &["proxy console", "proxy console --no-browser --port 8088"]),
    ("restart", &["proxy restart github"]),
    ("audit", &["proxy audit verify audit.jsonl", "proxy audit verify audit*.jsonl --head sha256:9f86d0…"]),
    ("login", &["proxy login linear", "proxy login linear --no-browser", "proxy login --list"]),
    ("logout", &["proxy logout linear"]),
    ("list-servers", &["proxy list-servers", "proxy list-servers --json"]),
    ("list-tools", &["proxy list-tools", "proxy list-tools github --all", "proxy list-tools --json"]),
    ("list-resources", &["proxy list-resources", "proxy list-resources files --json"]),
    ("list-prompts", &["proxy list-prompts", "proxy list-prompts --all"]),
    ("find", &["proxy find convert units", "proxy find \"what is the weather in Rome\" --limit 3"]),
    ("tokens", &["proxy tokens", "proxy tokens --top 50", "proxy tokens --json"]),
    ("types", &["proxy types > tools.ts", "proxy types --lang star --filter 'github_*'"]),
    ("call", &["proxy call greet name=Ann", "proxy call search --args '{\"query\": \"two words\"}' --json"]),
    ("read", &["proxy read memo://notes/today", "proxy read file:///logo.png > logo.png"]),
    ("prompt", &["proxy prompt review language=Rust"]),
    ("exec", &["proxy exec report.star", "proxy exec report.star --data '{\"day\": \"Monday\"}'"]),
    ("repl", &["proxy repl", "proxy repl -c other.yaml"]),
    ("check", &["proxy check", "proxy check --live", "proxy check policy.star"]),
    ("explain", &["proxy explain create_issue", "proxy explain github/search --as-user ann"]),
    ("test", &["proxy test", "proxy test policy_test.star --filter refuses"]),
    ("backtest", &["proxy backtest calls.jsonl --script new.star", "proxy backtest calls.jsonl --json"]),
    ("author", &["proxy author", "proxy author ~/policies"]),
    ("new", &["proxy new tool shorten", "proxy new policy company"]),
    ("list-presets", &["proxy list-presets", "proxy list-presets --json"]),
    ("show-preset", &["proxy show-preset default > policy.star"]),
    ("lsp", &["proxy lsp"]),
    ("init", &["proxy init", "proxy init --from ~/.cursor/mcp.json"]),
    (
        "install",
        &["proxy install cursor --import", "proxy install claude-code --dry-run", "proxy install --link vscode"],
    ),
    ("doctor", &["proxy doctor", "proxy doctor --start --json"]),
    ("uninstall", &["proxy uninstall cursor", "proxy uninstall vscode --scope project --yes"]),
    ("completions", &["proxy completions bash > ~/.local/share/bash-completion/completions/proxy"]),
    ("identity-key", &["proxy identity-key > edge.jwks.json"]),
    ("config-schema", &["proxy config-schema > proxy.schema.json"]),
];

#[cfg(test)]
mod tests {
    use super::super::command;
    use super::*;

    #[test]
    fn every_subcommand_is_in_exactly_one_group() {
        let mut grouped: Vec<String> =
            GROUPS.iter().flat_map(|(_, lines)| *lines).flat_map(|names| *names).map(ToString::to_string).collect();
        let command = command();
        let mut known: Vec<String> = command.get_subcommands().map(|known| known.get_name().to_owned()).collect();
        grouped.sort();
        known.sort();
        assert_eq!(grouped, known);
    }

    /// The words of an example as a shell reads them, without where the output goes.
    fn words(example: &str) -> Vec<String> {
        let example = example.split(" > ").next().unwrap_or_default();
        let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
        for letter in example.chars() {
            match (letter, quote) {
                (' ', None) => words.push(std::mem::take(&mut word)),
                ('"' | '\'', None) => quote = Some(letter),
                (_, Some(open)) if open == letter => quote = None,
                _ => word.push(letter),
            }
        }
        words.push(word);
        words
    }

    #[test]
    fn every_subcommand_has_examples_that_can_be_typed() {
        let mut shown: Vec<&str> = EXAMPLES.iter().map(|(name, _)| *name).collect();
        let command = command();
        let mut known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        shown.sort();
        known.sort();
        assert_eq!(shown, known);
        for (name, example) in EXAMPLES.iter().flat_map(|(name, examples)| examples.iter().map(move |one| (name, one)))
        {
            let read = command.clone().try_get_matches_from(words(example));
            assert_eq!(
                read.map(|read| read.subcommand_name().map(str::to_owned)).ok().flatten().as_deref(),
                Some(*name),
                "{example}"
            );
        }
    }

    #[test]
    fn every_global_option_is_named() {
        let mut command = command();
        command.build();
        for option in command.get_arguments() {
            let long = option.get_long().map(|long| format!("--{long}"));
            let short = option.get_short().map(|short| format!("-{short},"));
            for name in long.into_iter().chain(short) {
                assert!(OPTIONS.contains(&name), "{name}");
            }
        }
    }
}
