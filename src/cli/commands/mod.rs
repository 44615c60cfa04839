//! The subcommands, one file each.

mod call;
mod check;
mod completions;
mod exec;
mod find;
mod init;
mod list_presets;
mod list_servers;
mod list_tools;
mod lsp;
mod new;
mod repl;
mod serve;
mod show_preset;
mod status;
mod test;
mod types;

use clap::Subcommand;

use super::failure::CommandFailure;

/// The first line of each comment is what `proxy --help` shows. [`super::help`] puts every command into a group.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Serve the configured servers on stdio or HTTP
    Serve(serve::ServeArgs),
    /// Show the status of a running proxy
    Status(status::StatusArgs),
    /// Start the servers and show the status of each
    ListServers(list_servers::ListServersArgs),
    /// List the tools that the session script publishes
    ListTools(list_tools::ListToolsArgs),
    /// Search the tools as `find_tool` does, with scores
    Find(find::FindArgs),
    /// Print the published tools as typed functions
    Types(types::TypesArgs),
    /// Call a published tool
    Call(call::CallArgs),
    /// Run a Starlark script over the published tools
    Exec(exec::ExecArgs),
    /// Start a Starlark prompt with live servers
    Repl(repl::ReplArgs),
    /// Check the config, scripts and extensions
    Check(check::CheckArgs),
    /// Run the tests in *_test.star files
    Test(test::TestArgs),
    /// Scaffold an extension and its test
    New(new::NewArgs),
    /// List the built-in session scripts
    ListPresets(list_presets::ListPresetsArgs),
    /// Print the source of a built-in session script
    ShowPreset(show_preset::ShowPresetArgs),
    /// Start a language server for editors
    Lsp(lsp::LspArgs),
    /// Write a proxy.yaml, or import another client's config
    Init(init::InitArgs),
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
}

impl Command {
    /// The log filter if `--log` is not given.
    pub(super) fn default_log_filter(&self) -> &'static str {
        match self {
            Command::Serve(_) => "info",
            // The user of the prompt reads what the script logs.
            Command::Repl(_) => "error,script=info",
            _ => "error",
        }
    }

    pub(super) fn run(self) -> Result<(), CommandFailure> {
        match self {
            Command::Serve(args) => serve::run(args),
            Command::Status(args) => status::run(&args),
            Command::ListServers(args) => list_servers::run(&args),
            Command::ListTools(args) => list_tools::run(&args),
            Command::Find(args) => find::run(&args),
            Command::Types(args) => types::run(&args),
            Command::Call(args) => call::run(&args),
            Command::Exec(args) => exec::run(&args),
            Command::Repl(args) => repl::run(&args),
            Command::Check(args) => check::run(&args),
            Command::Test(args) => test::run(&args),
            Command::New(args) => new::run(&args),
            Command::ListPresets(args) => list_presets::run(&args),
            Command::ShowPreset(args) => show_preset::run(&args),
            Command::Lsp(args) => lsp::run(&args),
            Command::Init(args) => init::run(&args),
            Command::Completions(args) => completions::run(&args),
        }
    }
}
