//! `docs/reference/cli.md` lists exactly the subcommands and options that clap knows.

use std::collections::BTreeSet;

use clap::{Arg, ArgAction, Command};
use starlark_mcp_proxy::cli;

use super::markdown::{self, Section};
use super::root;

/// The heading, in the help of a subcommand, of the options that many subcommands share.
const COMMON_HEADING: &str = "Servers and script";

fn sections() -> Vec<Section> {
    markdown::sections(&root().join("docs/reference/cli.md"))
}

fn section(title: &str) -> Section {
    let found = sections().into_iter().find(|section| section.title == title);
    found.unwrap_or_else(|| panic!("docs/reference/cli.md has no section `{title}`"))
}

fn subcommands() -> Vec<Command> {
    cli::command().get_subcommands().cloned().collect()
}

/// The options of a subcommand and of the subcommands below it.
fn options(command: &Command) -> Vec<Arg> {
    let own = command.get_opts().filter(|option| !option.is_hide_set()).cloned();
    own.chain(command.get_subcommands().flat_map(options)).collect()
}

fn is_common(option: &Arg) -> bool {
    option.get_help_heading() == Some(COMMON_HEADING)
}

/// `--json`, `--config FILE`, `--http [ADDRESS]`: as the first column of a table shows it.
fn shown(option: &Arg) -> String {
    let long = option.get_long().expect("every option has a long name");
    if !matches!(option.get_action(), ArgAction::Set | ArgAction::Append) {
        return format!("--{long}");
    }
    let value = match option.get_value_names() {
        Some([value, ..]) => value.to_string(),
        _ => long.to_uppercase(),
    };
    let is_optional = option.get_num_args().is_some_and(|range| range.min_values() == 0);
    if is_optional { format!("--{long} [{value}]") } else { format!("--{long} {value}") }
}

fn shown_all<'a>(options: impl Iterator<Item = &'a Arg>) -> BTreeSet<String> {
    options.map(shown).collect()
}

/// The options in the first column of the tables of a section.
fn documented(section: &Section) -> BTreeSet<String> {
    let spans = section.rows().into_iter().flat_map(|row| markdown::code_spans(&row[0]));
    spans.filter(|span| span.starts_with("--")).collect()
}

#[test]
fn every_subcommand_has_a_section_and_every_section_a_subcommand() {
    let sections = sections();
    let titles = sections.iter().filter_map(|section| section.title.strip_prefix("proxy "));
    let documented: Vec<&str> = titles.filter_map(|title| title.split_whitespace().next()).collect();
    let command = cli::command();
    let known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    assert_eq!(documented.iter().collect::<BTreeSet<_>>(), known.iter().collect::<BTreeSet<_>>());
    assert_eq!(documented.len(), known.len(), "a subcommand has two sections");
}

#[test]
fn every_option_is_in_the_section_of_its_subcommand_and_nothing_else() {
    for command in subcommands() {
        let name = command.get_name();
        let is_about = |section: &&Section| section.title.split_whitespace().take(2).eq(["proxy", name]);
        let sections = sections();
        let section = sections.iter().find(is_about).unwrap_or_else(|| panic!("no section for {name}"));
        let options = options(&command);
        let own = shown_all(options.iter().filter(|option| !is_common(option)));
        assert_eq!(documented(section), own, "the table of `proxy {name}` in docs/reference/cli.md");
    }
}

#[test]
fn the_common_options_are_listed_with_the_subcommands_that_have_them() {
    let section = section("Config options");
    let subcommands = subcommands();
    let all: Vec<Arg> = subcommands.iter().flat_map(options).collect();
    let common = shown_all(all.iter().filter(|option| is_common(option)));
    assert!(common.len() >= 4, "{common:?}");
    assert_eq!(documented(&section), common);
    let sentence = section.text.lines().find(|line| line.contains("have these options")).expect("the list");
    let listed: BTreeSet<String> = markdown::code_spans(sentence).into_iter().collect();
    let having = subcommands.iter().filter(|command| options(command).iter().any(is_common));
    assert_eq!(listed, having.map(|command| command.get_name().to_owned()).collect());
}

#[test]
fn the_options_of_every_command_are_listed() {
    let command = cli::command();
    assert_eq!(documented(&section("Global options")), shown_all(command.get_opts()));
}
