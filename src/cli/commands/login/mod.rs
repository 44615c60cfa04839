//! `proxy login` and `proxy logout`: the log-ins of the proxy at servers.

mod attempt;
mod callback;
mod list;
mod log_out;
mod paste;
mod probe;
mod redirect;
mod source;
mod wait;

use std::sync::Arc;

use clap::Args;

use crate::cli::failure::CommandFailure;
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
    /// Ask for this scope too; repeatable
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// Open no browser: print the address only
    #[arg(long)]
    no_browser: bool,
    /// Port on 127.0.0.1 to which the browser is sent back
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// How long to wait for the browser
    #[arg(long, value_name = "DURATION", default_value = "5m")]
    timeout: String,
    /// Show the log-ins instead
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
    /// Name of the server
    #[arg(value_name = "SERVER")]
    server: String,
    /// Forget the registration of the client too
    #[arg(long)]
    forget_client: bool,
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

/// The log-ins of a config.
fn log_ins(config: &Config) -> Arc<LogIns> {
    LogIns::new(CredentialStorage::for_config(config, setup::state_folder().as_deref()))
}

/// What is known of a server was seen with another account, or with none.
fn outdate_lists(name: &str, server: &ServerConfig) {
    if let Err(error) = Cache::at(setup::cache_folder()).outdate(name, server) {
        let problem = format!("the lists of `{name}` from before stay in use: {error}");
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

/// Says something to the person, unless only results are wanted.
fn say(text: &str) {
    if !output::is_quiet() {
        output::err(&output::one_line(text));
    }
}
