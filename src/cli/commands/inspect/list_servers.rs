//! `proxy list-servers`: shows the last known state of each server, or starts them all and shows how each is.

use std::path::Path;

use clap::Args;
use serde_json::Value;

use crate::cli::failure::CommandFailure;
use crate::cli::query::{self, ServerArgs};
use crate::cli::setup::SourceArgs;
use crate::cli::{age, output, table};
use proxy_model::error_line;

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
    let loaded = args.servers.source.load()?;
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

fn row(server: &Value) -> Vec<String> {
    let text = |value: &Value| table::first_line(value.as_str().unwrap_or_default()).to_owned();
    let number = |name: &str| server[name].as_u64().unwrap_or_default();
    let status = match ago(&server["lastSeen"]).filter(|_| server["status"] == "cached") {
        Some(ago) => format!("cached ({ago})"),
        None => text(&server["status"]),
    };
    let failure = &server["lastError"];
    let error = match ago(&failure["at"]) {
        Some(ago) => format!("{ago}: {}", error_line(failure["error"].as_str().unwrap_or_default())),
        None => error_line(server["error"].as_str().unwrap_or_default()),
    };
    vec![
        text(&server["name"]),
        status,
        text(&server["kind"]),
        text(&server["version"]),
        text(&server["protocolVersion"]),
        number("tools").to_string(),
        (number("resources") + number("resourceTemplates")).to_string(),
        number("prompts").to_string(),
        server["startMilliseconds"].as_u64().map(|time| format!("{time} ms")).unwrap_or_default(),
        error,
    ]
}

/// How long ago a time in JSON was.
fn ago(time: &Value) -> Option<String> {
    let time: jiff::Timestamp = time.as_str()?.parse().ok()?;
    Some(age::ago(time.into()))
}
