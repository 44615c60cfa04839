//! `proxy list-tools`: what a client would see.

use clap::Args;
use serde_json::{Value, json};

use super::failure::Failure;
use super::setup::{self, Source};
use super::{output, table};
use crate::builtins::Handler;
use crate::diagnostic::{Diagnostic, nearest};
use crate::gateway::Gateway;
use crate::surface::Surface;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Only the tools of this server
    server: Option<String>,
    /// What the servers have, not what the script publishes
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    source: Source,
    /// Print JSON: the full definitions
    #[arg(long)]
    json: bool,
}

/// One line of the answer.
struct Listed {
    name: String,
    server: String,
    description: String,
    definition: Value,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (tools, backends) = setup::with_gateway(&arguments.source, None, async |gateway, surface| {
        setup::report_missing(gateway);
        check_server(arguments.server.as_deref(), gateway)?;
        let tools = if arguments.all { offered(gateway) } else { published(&surface) };
        Ok((tools, gateway.snapshot().backends.clone()))
    })?;
    let tools: Vec<Listed> = tools
        .into_iter()
        .filter(|tool| arguments.server.as_ref().is_none_or(|server| *server == tool.server))
        .collect();
    if arguments.json {
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

fn check_server(wanted: Option<&str>, gateway: &Gateway) -> Result<(), Failure> {
    let snapshot = gateway.snapshot();
    let Some(wanted) = wanted.filter(|wanted| snapshot.backend(wanted).is_none()) else { return Ok(()) };
    let names: Vec<&str> = snapshot.backends.iter().map(|backend| backend.name.as_ref()).collect();
    let diagnostic = Diagnostic::error(format!("there is no server `{wanted}`"));
    Err(Failure::failed(match nearest(wanted, names.iter().copied()) {
        Some(near) => diagnostic.hint(format!("did you mean `{near}`?")),
        None => diagnostic.hint(format!("there is {}", names.join(", "))),
    }))
}

fn published(surface: &Surface) -> Vec<Listed> {
    surface
        .tools()
        .map(|entry| Listed {
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

fn offered(gateway: &Gateway) -> Vec<Listed> {
    let snapshot = gateway.snapshot();
    let mut tools = Vec::new();
    for backend in &snapshot.backends {
        tools.extend(backend.lists.tools.iter().map(|tool| Listed {
            name: tool.key().to_owned(),
            server: backend.name.to_string(),
            description: tool.text("description"),
            definition: serde_json::from_str(tool.raw().get()).unwrap_or_default(),
        }));
    }
    tools
}
