//! `proxy login` and `proxy logout`: the log-ins of the proxy at servers.

mod browser;
mod callback;
mod page;
mod paste;
mod redirect;
mod source;
mod wait;

use clap::Args;

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
    #[arg(long, requires = "list")]
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
pub(super) fn run(_args: &LoginArgs) -> Result<(), crate::cli::failure::CommandFailure> {
    Ok(())
}
pub(super) fn log_out(_args: &LogoutArgs) -> Result<(), crate::cli::failure::CommandFailure> {
    Ok(())
}
