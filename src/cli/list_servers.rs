//! `proxy list-servers`: how each server is.

use clap::Args;

use super::failure::Failure;
use super::setup::{self, Source};
use super::{output, table};
use crate::model::BackendView;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    source: Source,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    // A script that fails is no reason not to say how the servers are.
    let backends = setup::with_servers(&arguments.source)?;
    if arguments.json {
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
        table::first_line(&backend.error).to_owned(),
    ]
}
