//! `proxy list-servers`: shows the last known state of each server, or starts them all and shows how each is.

use std::path::Path;

use clap::Args;

use crate::cli::age::ago;
use crate::cli::failure::CommandFailure;
use crate::cli::query::{self, QueryArgs};
use crate::cli::setup::SourceArgs;
use crate::cli::{output, table};
use crate::model::{BackendView, Status, error_line};

#[derive(Debug, Args)]
pub(crate) struct ListServersArgs {
    #[command(flatten)]
    query: QueryArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl ListServersArgs {
    /// Starts the servers of this config.
    pub(in crate::cli::commands) fn of_file(file: &Path) -> Self {
        ListServersArgs { query: QueryArgs { source: SourceArgs::of_file(file), live: true }, json: false }
    }
}

pub(in crate::cli::commands) fn run(args: &ListServersArgs) -> Result<(), CommandFailure> {
    // The session script does not run: its errors must not hide the status of the servers.
    let backends = query::server_states(&args.query)?;
    if args.json {
        output::json(&backends.iter().map(|backend| backend.to_json()).collect::<Vec<_>>());
        return query::unless_all_failed(&backends);
    }
    let rows: Vec<Vec<String>> = backends.iter().map(|backend| row(backend)).collect();
    output::out(&table::render(
        &["SERVER", "STATUS", "KIND", "VERSION", "PROTOCOL", "TOOLS", "RESOURCES", "PROMPTS", "START", "ERROR"],
        &rows,
    ));
    query::unless_all_failed(&backends)
}

fn row(backend: &BackendView) -> Vec<String> {
    let lists = &backend.lists;
    let known = backend.last_known.as_deref();
    let status = match known.and_then(|known| known.seen).filter(|_| backend.status == Status::Cached) {
        Some(seen) => format!("cached ({})", ago(seen)),
        None => backend.status.as_str().to_owned(),
    };
    let error = match known.and_then(|known| known.failure.as_ref()) {
        Some(failure) => format!("{}: {}", ago(failure.at), error_line(&failure.error)),
        None => error_line(&backend.error),
    };
    vec![
        backend.name.to_string(),
        status,
        backend.kind.as_str().to_owned(),
        table::first_line(&backend.info.version).to_owned(),
        backend.info.protocol_version.clone(),
        lists.tools.len().to_string(),
        (lists.resources.len() + lists.resource_templates.len()).to_string(),
        lists.prompts.len().to_string(),
        backend.start_time.map(|time| format!("{} ms", time.as_millis())).unwrap_or_default(),
        error,
    ]
}
