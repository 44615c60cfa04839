//! `proxy list-servers`: starts the servers and shows the status of each.

use std::path::Path;

use clap::Args;

use crate::cli::failure::CommandFailure;
use crate::cli::setup::{self, SourceArgs};
use crate::cli::{output, table};
use crate::model::BackendView;

#[derive(Debug, Args)]
pub(crate) struct ListServersArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl ListServersArgs {
    pub(in crate::cli::commands) fn of_file(file: &Path) -> Self {
        ListServersArgs { source: SourceArgs::of_file(file), json: false }
    }
}

pub(in crate::cli::commands) fn run(args: &ListServersArgs) -> Result<(), CommandFailure> {
    // The session script does not run: its errors must not hide the status of the servers.
    let backends = setup::server_states(&args.source)?;
    if args.json {
        output::json(&backends.iter().map(|backend| backend.to_json()).collect::<Vec<_>>());
        return setup::unless_all_failed(&backends);
    }
    let rows: Vec<Vec<String>> = backends.iter().map(|backend| row(backend)).collect();
    output::out(&table::render(
        &["SERVER", "STATUS", "KIND", "VERSION", "PROTOCOL", "TOOLS", "RESOURCES", "PROMPTS", "START", "ERROR"],
        &rows,
    ));
    setup::unless_all_failed(&backends)
}

fn row(backend: &BackendView) -> Vec<String> {
    let lists = &backend.lists;
    vec![
        backend.name.to_string(),
        backend.status.as_str().to_owned(),
        backend.kind.as_str().to_owned(),
        table::first_line(&backend.info.version).to_owned(),
        backend.info.protocol_version.clone(),
        lists.tools.len().to_string(),
        (lists.resources.len() + lists.resource_templates.len()).to_string(),
        lists.prompts.len().to_string(),
        backend.start_time.map(|time| format!("{} ms", time.as_millis())).unwrap_or_default(),
        backend.error_line(),
    ]
}
