//! The subcommands.

mod audit;
pub(super) mod author;
mod backtest;
mod browser;
mod call;
mod calls;
mod check;
mod client_rows;
mod completions;
mod config_schema;
mod console;
mod doctor;
mod entry_options;
mod explain;
mod identity_key;
mod init;
mod inspect;
mod install;
mod instance;
mod list_presets;
mod lock;
mod login;
mod logs;
mod lsp;
mod new;
mod profile_rows;
mod repl;
mod restart;
mod serve;
mod sessions;
mod show_preset;
mod status;
mod test;
mod tokens;

use clap::Subcommand;
use tracing::level_filters::LevelFilter;

use super::failure::CommandFailure;
use super::logging::DefaultLevels;
use inspect::list_items::{self, ItemListArgs};

/// The first line of each comment is what `proxy --help` shows. [`super::help`] puts every command into a group.
#[derive(Debug, Subcommand)]
pub(super) enum ProxyCommand {
    /// Serve the configured servers on stdio or HTTP
    Serve(serve::ServeArgs),
    /// Show a running proxy
    Status(status::StatusArgs),
    /// Show what a server wrote to standard error
    Logs(instance::RunningServerArgs),
    /// Show calls of a running proxy, live or in detail
    Calls(calls::CallsArgs),
    /// Open a page in the browser that shows a running proxy
    Console(console::ConsoleArgs),
    /// Show or end the sessions of a running proxy
    Sessions(sessions::SessionsArgs),
    /// Restart a server of a running proxy
    Restart(instance::RunningServerArgs),
    /// Check an audit log
    Audit(audit::AuditArgs),
    /// Log in to a server
    Login(login::LoginArgs),
    /// Revoke and delete an authorization
    Logout(login::LogoutArgs),
    /// Show the servers and their last known state
    ListServers(inspect::list_servers::ListServersArgs),
    /// List published tools
    ListTools(ItemListArgs),
    /// List published resources and resource templates
    ListResources(ItemListArgs),
    /// List published prompts
    ListPrompts(ItemListArgs),
    /// Search the tools as `find_tool` does, with scores
    Find(inspect::find::FindArgs),
    /// Show what the tools cost a model, by server, tool and preset
    Tokens(tokens::TokensArgs),
    /// Print the published tools as typed functions
    Types(inspect::types::TypesArgs),
    /// Call a published tool
    Call(call::tool::CallArgs),
    /// Read a published resource
    Read(call::read::ReadArgs),
    /// Get a published prompt
    Prompt(call::prompt::PromptArgs),
    /// Run a Starlark script over the published tools
    Exec(call::exec::ExecArgs),
    /// Start a Starlark prompt with live servers
    Repl(repl::ReplArgs),
    /// Check the config, scripts and extensions
    Check(check::CheckArgs),
    /// Explain what happened to an item, where and why
    Explain(explain::ExplainArgs),
    /// Approve what servers list, or compare it with what is approved
    Lock(lock::LockArgs),
    /// Run the tests in *_test.star files
    Test(test::TestArgs),
    /// Run recorded calls through another version of the script
    Backtest(backtest::BacktestArgs),
    /// Serve tools on stdio for models that write policies
    Author(author::AuthorArgs),
    /// Scaffold a policy, an extension or a test
    New(new::NewArgs),
    /// List the built-in session scripts
    ListPresets(list_presets::ListPresetsArgs),
    /// Print the source of a built-in session script
    ShowPreset(show_preset::ShowPresetArgs),
    /// Start a language server for editors
    Lsp(lsp::LspArgs),
    /// Write a proxy.yaml
    Init(init::InitArgs),
    /// Add the proxy to a client
    Install(install::InstallArgs),
    /// Take the proxy out of a client again
    Uninstall(install::UninstallArgs),
    /// Find what is wrong with this installation, with fixes
    Doctor(doctor::DoctorArgs),
    /// Print the public key of signed caller identities
    IdentityKey(identity_key::IdentityKeyArgs),
    /// Print the JSON Schema of proxy.yaml, for editors
    ConfigSchema(config_schema::ConfigSchemaArgs),
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
}

impl ProxyCommand {
    /// The log levels if the command line does not set one.
    pub(super) fn default_log_levels(&self) -> DefaultLevels {
        match self {
            ProxyCommand::Serve(_) => DefaultLevels::all(LevelFilter::INFO),
            // The prompt shows log output from the script.
            ProxyCommand::Repl(_) => DefaultLevels { proxy: LevelFilter::ERROR, script: LevelFilter::INFO },
            _ => DefaultLevels::all(LevelFilter::ERROR),
        }
    }

    pub(super) fn run(self) -> Result<(), CommandFailure> {
        match self {
            ProxyCommand::Serve(args) => serve::run(args),
            ProxyCommand::Status(args) => status::run(&args),
            ProxyCommand::Logs(args) => logs::run(&args),
            ProxyCommand::Calls(args) => calls::run(&args),
            ProxyCommand::Console(args) => console::run(&args),
            ProxyCommand::Sessions(args) => sessions::run(&args),
            ProxyCommand::Restart(args) => restart::run(&args),
            ProxyCommand::Audit(args) => audit::run(&args),
            ProxyCommand::Login(args) => login::run(&args),
            ProxyCommand::Logout(args) => login::log_out(&args),
            ProxyCommand::ListServers(args) => inspect::list_servers::run(&args),
            ProxyCommand::ListTools(args) => list_items::tools(&args),
            ProxyCommand::ListResources(args) => list_items::resources(&args),
            ProxyCommand::ListPrompts(args) => list_items::prompts(&args),
            ProxyCommand::Find(args) => inspect::find::run(&args),
            ProxyCommand::Tokens(args) => tokens::run(&args),
            ProxyCommand::Types(args) => inspect::types::run(&args),
            ProxyCommand::Call(args) => call::tool::run(&args),
            ProxyCommand::Read(args) => call::read::run(&args),
            ProxyCommand::Prompt(args) => call::prompt::run(&args),
            ProxyCommand::Exec(args) => call::exec::run(&args),
            ProxyCommand::Repl(args) => repl::run(&args),
            ProxyCommand::Check(args) => check::run(&args),
            ProxyCommand::Explain(args) => explain::run(&args),
            ProxyCommand::Lock(args) => lock::run(&args),
            ProxyCommand::Test(args) => test::run(&args),
            ProxyCommand::Backtest(args) => backtest::run(&args),
            ProxyCommand::Author(args) => author::run(&args),
            ProxyCommand::New(args) => new::run(&args),
            ProxyCommand::ListPresets(args) => list_presets::run(&args),
            ProxyCommand::ShowPreset(args) => show_preset::run(&args),
            ProxyCommand::Lsp(args) => lsp::run(&args),
            ProxyCommand::Init(args) => init::run(&args),
            ProxyCommand::Install(args) => install::run(&args),
            ProxyCommand::Uninstall(args) => install::uninstall(&args),
            ProxyCommand::Doctor(args) => doctor::run(&args),
            ProxyCommand::IdentityKey(args) => identity_key::run(&args),
            ProxyCommand::ConfigSchema(args) => config_schema::run(&args),
            ProxyCommand::Completions(args) => completions::run(&args),
        }
    }
}
