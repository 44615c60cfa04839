//! `proxy list-tools`: lists the tools that a client sees.

use clap::Args;
use serde_json::{Value, json};

use crate::builtins::Handler;
use crate::cli::failure::CommandFailure;
use crate::cli::setup::{self, SourceArgs};
use crate::cli::{output, table};
use crate::diagnostic::{Diagnostic, nearest};
use crate::gateway::Gateway;
use crate::surface::Surface;

#[derive(Debug, Args)]
pub(crate) struct ListToolsArgs {
    /// Show only the tools of this server
    server: Option<String>,
    /// Show what the servers offer instead of what the script publishes
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    source: SourceArgs,
    /// Print the full definitions as JSON
    #[arg(long)]
    json: bool,
}

/// One row of the output.
struct ToolRow {
    name: String,
    server: String,
    description: String,
    definition: Value,
}

pub(super) fn run(args: &ListToolsArgs) -> Result<(), CommandFailure> {
    let (tools, backends) = setup::with_gateway(&args.source, None, async |gateway, surface| {
        setup::report_missing(gateway);
        check_server(args.server.as_deref(), gateway)?;
        let tools = if args.all { offered(gateway) } else { published(&surface) };
        Ok((tools, gateway.snapshot().backends.clone()))
    })?;
    let tools: Vec<ToolRow> =
        tools.into_iter().filter(|tool| args.server.as_ref().is_none_or(|server| *server == tool.server)).collect();
    if args.json {
        let tools: Vec<Value> =
            tools.into_iter().map(|tool| json!({"server": tool.server, "tool": tool.definition})).collect();
        output::json(&tools);
        return setup::unless_all_failed(&backends);
    }
    let rows: Vec<Vec<String>> = tools
        .into_iter()
        .map(|tool| vec![tool.name, tool.server, table::first_line(&tool.description).to_owned()])
        .collect();
    output::out(&table::render(&["TOOL", "SERVER", "DESCRIPTION"], &rows));
    setup::unless_all_failed(&backends)
}

fn check_server(name: Option<&str>, gateway: &Gateway) -> Result<(), CommandFailure> {
    let snapshot = gateway.snapshot();
    let Some(name) = name.filter(|name| snapshot.backend(name).is_none()) else { return Ok(()) };
    let names: Vec<&str> = snapshot.backends.iter().map(|backend| backend.name.as_ref()).collect();
    let diagnostic = Diagnostic::error(format!("unknown server `{name}`"));
    Err(CommandFailure::failed(match nearest(name, names.iter().copied()) {
        Some(near) => diagnostic.hint(format!("did you mean `{near}`?")),
        None => diagnostic.hint(format!("known servers: {}", names.join(", "))),
    }))
}

fn published(surface: &Surface) -> Vec<ToolRow> {
    surface
        .tools()
        .map(|entry| ToolRow {
            name: entry.definition.key().to_owned(),
            server: match &entry.handler {
                Handler::Backend(target) => target.backend.to_string(),
                Handler::Script(_) => {
                    entry.origin.as_ref().map(|origin| origin.backend.to_string()).unwrap_or_default()
                }
            },
            description: entry.definition.text("description"),
            definition: serde_json::from_str(entry.definition.raw().get()).unwrap_or_default(),
        })
        .collect()
}

fn offered(gateway: &Gateway) -> Vec<ToolRow> {
    let snapshot = gateway.snapshot();
    let mut tools = Vec::new();
    for backend in &snapshot.backends {
        tools.extend(backend.lists.tools.iter().map(|tool| ToolRow {
            name: tool.key().to_owned(),
            server: backend.name.to_string(),
            description: tool.text("description"),
            definition: serde_json::from_str(tool.raw().get()).unwrap_or_default(),
        }));
    }
    tools
}
