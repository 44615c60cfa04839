//! The command line. This is the only module that prints.

mod age;
mod commands;
mod failure;
mod help;
mod logging;
mod output;
mod setup;
mod spinner;
mod table;
mod terminal;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser};

use commands::Command;

/// A programmable MCP proxy: one endpoint in front of all your MCP servers
#[derive(Debug, Parser)]
#[command(name = "proxy", version, arg_required_else_help = true, max_term_width = 100)]
struct Cli {
    /// Log level on standard error: off, error, warn, info, debug or trace
    #[arg(long, global = true, value_name = "LEVEL", display_order = 100)]
    log: Option<String>,

    #[command(subcommand)]
    command: Command,
}

/// The definition of the command line, with every subcommand and option.
pub fn command() -> clap::Command {
    let command = Cli::command();
    let template = help::template(&command);
    command.help_template(template)
}

/// Parses the arguments and runs the subcommand. Exit codes: 0 for success, 1 if the operation failed, 2 for a usage or
/// config error.
pub fn run() -> ExitCode {
    let matches = command().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    // Dropping the log writer flushes the log.
    let _log = match logging::start(cli.log.as_deref(), cli.command.default_log_filter()) {
        Ok(log) => log,
        Err(failure) => return failure.report(),
    };
    match cli.command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
