//! `proxy login` and `proxy logout`: the proxy's authorizations for servers.

mod attempt;
mod audit;
mod callback;
mod end_unused;
mod list;
mod log_out;
mod paste;
mod probe;
mod redirect;
mod source;
mod unused;
mod wait;

use std::sync::Arc;

use clap::Args;

use crate::cli::failure::CommandFailure;
use crate::cli::setup::LoadedConfig;
use crate::cli::{output, setup};
use proxy_base::diagnostic::Diagnostic;
use proxy_config::{Config, ServerConfig};
use proxy_identity::oauth::{CredentialStorage, LogInError, LogIns};
use proxy_mcp_client::Cache;
use source::LogInSource;

#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    /// Name of the server
    #[arg(value_name = "SERVER", required_unless_present = "list")]
    server: Option<String>,
    /// Request this scope too; repeatable
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// Only print the address; do not open a browser
    #[arg(long)]
    no_browser: bool,
    /// Port on 127.0.0.1 for the redirect
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Log in for this user, at a server with an account for each person
    #[arg(long, value_name = "SUB", conflicts_with = "list")]
    as_user: Option<String>,
    /// How long to wait for the browser
    #[arg(long, value_name = "DURATION", default_value = "5m")]
    timeout: String,
    /// Show authorizations instead
    #[arg(long, conflicts_with_all = ["server", "scopes", "no_browser", "port"])]
    list: bool,
    /// With --list: print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: LogInSource,
}

#[derive(Debug, Args)]
pub(crate) struct LogoutArgs {
    /// Name of the server; with --as-user or --unused, all servers if omitted
    #[arg(value_name = "SERVER", required_unless_present_any = ["as_user", "unused"])]
    server: Option<String>,
    /// End the log-ins of this user, at servers with an account for each person
    #[arg(long, value_name = "SUB", conflicts_with = "forget_client")]
    as_user: Option<String>,
    /// Also forget the client registration
    #[arg(long)]
    forget_client: bool,
    /// End log-ins that the config has no use for, as `proxy login --list` shows them
    #[arg(long, conflicts_with_all = ["as_user", "forget_client"])]
    unused: bool,
    /// With --unused: do not ask for confirmation
    #[arg(long, requires = "unused")]
    yes: bool,
    #[command(flatten)]
    source: LogInSource,
}

pub(super) fn run(args: &LoginArgs) -> Result<(), CommandFailure> {
    match &args.server {
        // clap demands no `--list` where there cannot be one.
        Some(_) if args.json => Err(CommandFailure::usage("`--json` requires `--list`")),
        Some(server) => attempt::run(args, server),
        None => list::run(&args.source, args.json),
    }
}

pub(super) fn log_out(args: &LogoutArgs) -> Result<(), CommandFailure> {
    log_out::run(args)
}

/// A server, or the account of a person there, that cannot be used before somebody logs in.
pub(super) struct WaitingLogIn {
    pub(super) server: String,
    pub(super) person: Option<String>,
    /// The last error; empty if there is none.
    pub(super) why: String,
}

pub(super) struct KnownLogIns {
    pub(super) waiting: Vec<WaitingLogIn>,
    /// How many servers with a `url` were looked at.
    pub(super) known: usize,
}

/// The log-ins of a config that somebody has to make.
pub(super) fn waiting(loaded: &LoadedConfig) -> Result<KnownLogIns, CommandFailure> {
    list::waiting(loaded)
}

/// The authorizations of a config.
fn log_ins(config: &Config) -> Arc<LogIns> {
    LogIns::new(CredentialStorage::for_config(config, setup::state_folder().as_deref()))
}

/// Marks the cached lists of a server as outdated: they were seen with another account, or without one.
fn outdate_lists(name: &str, server: &ServerConfig) {
    if let Err(error) = Cache::at(setup::cache_folder()).outdate(name, server) {
        let problem = format!("the previous lists of `{name}` stay in use: {error}");
        output::diagnostics(&[Diagnostic::warning(problem).hint("`proxy list-servers --live` replaces them")]);
    }
}

fn failure(error: &LogInError) -> CommandFailure {
    let problem = Diagnostic::error(error.to_string());
    match error {
        LogInError::NotApplicable(_) => problem.into(),
        _ => CommandFailure::failed(problem),
    }
}

/// Prints a message for the user, unless only results are wanted.
fn say(text: &str) {
    if !output::is_quiet() {
        output::err(&output::one_line(text));
    }
}
