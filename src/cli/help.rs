//! The layout of `proxy --help`: the subcommands in groups, on one screen. clap has no headings for subcommands.

use std::fmt::Write;

use clap::Command;

/// Every subcommand, by group, in the order of `proxy --help`. Each line has a command and others that are like it, so that
/// all fit on one screen.
const GROUPS: [(&str, &[&[&str]]); 5] = [
    ("Serve", &[&["serve"], &["status", "logs"]]),
    ("Inspect", &[&["list-servers"], &["list-tools", "list-resources", "list-prompts"], &["find"], &["types"]]),
    ("Call", &[&["call", "read", "prompt"], &["exec"], &["repl"]]),
    ("Scripts", &[&["check"], &["test"], &["new"], &["list-presets", "show-preset"], &["lsp"]]),
    ("Setup", &[&["init"], &["completions", "config-schema"]]),
];

const OPTIONS: &str = "--log <LEVEL>, --log-format <FORMAT>, --log-file <FILE>, -v, --verbose,
  -q, --quiet, --color <WHEN>, -h, --help, -V, --version; also <COMMAND> --help";

/// The help template of the whole command line. The descriptions are those that clap knows.
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
