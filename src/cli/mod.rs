//! The command line: one file per subcommand. The only place that prints.

mod call;
mod check;
mod completions;
mod exec;
mod failure;
mod find;
mod init;
mod list_presets;
mod list_servers;
mod list_tools;
mod logging;
mod lsp;
mod new;
mod output;
mod repl;
mod serve;
mod setup;
mod show_preset;
mod spinner;
mod status;
mod table;
mod terminal;
mod test;
mod types;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// The MCP proxy that you program: many servers in front, one Starlark script in the middle, one client behind.
#[derive(Debug, Parser)]
#[command(name = "proxy", version, arg_required_else_help = true, max_term_width = 100)]
struct Arguments {
    /// Log lines at this level and above go to standard error: error, warn, info, debug, trace
    #[arg(long, global = true, value_name = "LEVEL")]
    log: Option<String>,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Front the configured servers: on stdio, or with --http on HTTP
    Serve(serve::Arguments),
    /// Write a commented proxy.yaml, or import another client's config
    Init(init::Arguments),
    /// Begin something: an extension with its test
    New(new::Arguments),
    /// Validate config, script and extensions without starting a server
    Check(check::Arguments),
    /// Name the session scripts shipped in this binary
    ListPresets(list_presets::Arguments),
    /// Print a preset's Starlark source, ready to fork
    ShowPreset(show_preset::Arguments),
    /// Start the servers and say how each of them is
    ListServers(list_servers::Arguments),
    /// List the tools the session script publishes
    ListTools(list_tools::Arguments),
    /// Call a published tool
    Call(call::Arguments),
    /// Find tools by what they do, as `find_tool` would, and say why
    Find(find::Arguments),
    /// Ask a running `proxy serve` how it is: servers, clients, last errors, last reload
    Status(status::Arguments),
    /// Run a Starlark script over the published tools, as a model would in code mode
    Exec(exec::Arguments),
    /// Print typed signatures of the published tools
    Types(types::Arguments),
    /// Run the tests in *_test.star files
    Test(test::Arguments),
    /// Help editors: a language server for scripts
    Lsp(lsp::Arguments),
    /// Try lines of Starlark with `backends()` live
    Repl(repl::Arguments),
    /// Print a completion script for a shell
    Completions(completions::Arguments),
}

/// Reads the arguments, runs the command, says what went wrong. 0: done; 1: the thing asked for failed; 2: usage or
/// config error.
pub fn run() -> ExitCode {
    let arguments = Arguments::parse();
    let usual = match arguments.command {
        Command::Serve(_) => "info",
        // What a line says with `log()` is for the person who typed it.
        Command::Repl(_) => "error,script=info",
        _ => "error",
    };
    let _log = match logging::start(arguments.log.as_deref(), usual) {
        Ok(log) => log,
        Err(failure) => return failure.report(),
    };
    let outcome = match arguments.command {
        Command::Serve(arguments) => serve::run(arguments),
        Command::Init(arguments) => init::run(&arguments),
        Command::New(arguments) => new::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::ListPresets(arguments) => list_presets::run(&arguments),
        Command::ShowPreset(arguments) => show_preset::run(&arguments),
        Command::ListServers(arguments) => list_servers::run(&arguments),
        Command::ListTools(arguments) => list_tools::run(&arguments),
        Command::Call(arguments) => call::run(&arguments),
        Command::Find(arguments) => find::run(&arguments),
        Command::Status(arguments) => status::run(&arguments),
        Command::Exec(arguments) => exec::run(&arguments),
        Command::Types(arguments) => types::run(&arguments),
        Command::Test(arguments) => test::run(&arguments),
        Command::Lsp(arguments) => lsp::run(&arguments),
        Command::Repl(arguments) => repl::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments, Arguments::command()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
