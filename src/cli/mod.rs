//! The command line. This is the only module that prints.

mod age;
mod commands;
mod failure;
mod help;
mod logging;
mod man_pages;
mod output;
mod query;
mod secret_commands;
mod server_log;
mod setup;
mod spinner;
mod table;
mod terminal;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser};

use commands::ProxyCommand;
use failure::CommandFailure;
use logging::LogArgs;
pub use man_pages::{ARGUMENT as MAN_PAGES, write as write_man_pages};

/// A programmable MCP proxy: one endpoint in front of all your MCP servers
#[derive(Debug, Parser)]
#[command(name = "proxy", version, arg_required_else_help = true, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    log: LogArgs,
    /// Use colours: auto, always or never
    #[arg(long, global = true, value_name = "WHEN", display_order = 105, help_heading = "Output")]
    #[arg(default_value = "auto", hide_default_value = true, hide_possible_values = true)]
    color: ColorChoice,

    #[command(subcommand)]
    command: ProxyCommand,
}

/// The definition of the command line, with every subcommand and option.
pub fn command() -> clap::Command {
    let command = Cli::command();
    let template = help::template(&command);
    help::with_examples(command.help_template(template))
}

/// Runs a command in a process that confines itself: `arguments` are those of the command.
pub fn run_confined(arguments: &[OsString]) -> ExitCode {
    proxy_host_io::require_doubles();
    let catalog = match arguments {
        [name, selection] if name == commands::author::CATALOG => selection.to_str(),
        _ => None,
    };
    let Some(selection) = catalog else {
        return run_with(std::iter::once("proxy".into()).chain(arguments.iter().cloned()).collect());
    };
    match commands::author::print_catalog(selection) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Parses the arguments and runs the subcommand. Exit codes: 0 for success, 1 if the operation failed, 2 for a usage or
/// config error.
pub fn run() -> ExitCode {
    run_with(std::env::args_os().collect())
}

fn run_with(arguments: Vec<OsString>) -> ExitCode {
    // clap's own help and errors are coloured too, so the choice is needed before parsing.
    let matches = command().color(chosen_color(arguments.iter().cloned())).get_matches_from(arguments);
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    output::set_up(cli.color, cli.log.quiet);
    let log = match logging::start(&cli.log, cli.command.default_log_levels()) {
        Ok(log) => log,
        Err(failure) => return failure.report(),
    };
    let outcome = cli.command.run();
    // Flushes the log, so that the reason for a failure is printed last.
    drop(log);
    match outcome.and_then(|()| output::finish().map_or(Ok(()), |problem| Err(CommandFailure::failed(problem)))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// The value of `--color` among the arguments. An invalid value is reported later, by clap.
fn chosen_color(arguments: impl Iterator<Item = OsString>) -> ColorChoice {
    let mut arguments = arguments.skip(1).take_while(|argument| argument != "--");
    let mut choice = None;
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--color") => choice = arguments.next(),
            Some(argument) => choice = argument.strip_prefix("--color=").map(Into::into).or(choice),
            None => {}
        }
    }
    choice.and_then(|word| word.to_str()?.parse().ok()).unwrap_or(ColorChoice::Auto)
}
