//! `proxy list-servers`: shows the last known state of each server, or starts all servers and shows their current state.

use std::path::Path;

use clap::Args;

use crate::cli::failure::CommandFailure;
use crate::cli::query::{self, ServerArgs};
use crate::cli::setup::SourceArgs;
use crate::cli::{age, output, table};
use proxy_model::error_line;
use proxy_model::operator_api::ServerStatus;

#[derive(Debug, Args)]
pub(crate) struct ListServersArgs {
    #[command(flatten)]
    servers: ServerArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl ListServersArgs {
    /// Starts the servers of this config.
    pub(in crate::cli::commands) fn of_file(file: &Path) -> Self {
        ListServersArgs { servers: ServerArgs { source: SourceArgs::of_file(file), live: true }, json: false }
    }
}

pub(in crate::cli::commands) fn run(args: &ListServersArgs) -> Result<(), CommandFailure> {
    let loaded = args.servers.source.load_without_commands()?;
    // The session script does not run: its errors must not hide the status of the servers.
    let servers = query::server_states(&args.servers.query(&loaded, args.json))?;
    if args.json {
        output::json(&servers);
        return query::unless_all_failed(&servers);
    }
    let rows: Vec<Vec<String>> = servers.iter().map(row).collect();
    output::out(&table::render(
        &["SERVER", "STATUS", "KIND", "VERSION", "PROTOCOL", "TOOLS", "RESOURCES", "PROMPTS", "START", "ERROR"],
        &rows,
    ));
    query::unless_all_failed(&servers)
}

fn row(server: &ServerStatus) -> Vec<String> {
    let text = |text: &str| table::first_line(text).to_owned();
    let status = match server.last_seen.as_deref().and_then(ago).filter(|_| server.status == "cached") {
        Some(ago) => format!("cached ({ago})"),
        None => text(server.state()),
    };
    let failure = server.last_error.as_ref();
    let error = match failure.and_then(|failure| Some((ago(&failure.at)?, &failure.error))) {
        Some((ago, error)) => format!("{ago}: {}", error_line(error)),
        None => error_line(&server.error),
    };
    vec![
        text(&server.name),
        status,
        text(&server.kind),
        text(&server.version),
        text(&server.protocol_version),
        server.tools.to_string(),
        (server.resources + server.resource_templates).to_string(),
        server.prompts.to_string(),
        server.start_milliseconds.map(|time| format!("{time} ms")).unwrap_or_default(),
        error,
    ]
}

/// How long ago a time was.
fn ago(time: &str) -> Option<String> {
    let time: jiff::Timestamp = time.parse().ok()?;
    Some(age::ago(time.into()))
}
