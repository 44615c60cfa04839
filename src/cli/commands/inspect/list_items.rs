//! `proxy list-tools`, `list-resources` and `list-prompts`: list what a client sees.

use clap::Args;
use serde_json::{Value, json};

use crate::builtins::Handler;
use crate::cli::failure::CommandFailure;
use crate::cli::query::{self, QueryArgs};
use crate::cli::setup;
use crate::cli::{output, table};
use crate::diagnostic::{Diagnostic, nearest};
use crate::gateway::Gateway;
use crate::model::{Definition, ItemKind};
use crate::surface::Surface;

#[derive(Debug, Args)]
pub(crate) struct ItemListArgs {
    /// Show only what this server offers
    server: Option<String>,
    /// Show what the servers offer instead of what the script publishes
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    query: QueryArgs,
    /// Print the full definitions as JSON
    #[arg(long)]
    json: bool,
}

/// One row of the output.
struct ItemRow {
    kind: ItemKind,
    key: String,
    server: String,
    description: String,
    definition: Value,
}

impl ItemRow {
    fn new(kind: ItemKind, server: String, definition: &Definition) -> Self {
        ItemRow {
            kind,
            key: definition.key().to_owned(),
            server,
            description: definition.text("description"),
            definition: serde_json::from_str(definition.raw().get()).unwrap_or_default(),
        }
    }

    /// The member of the JSON output that has the definition.
    fn member(&self) -> &'static str {
        match self.kind {
            ItemKind::Tool => "tool",
            ItemKind::Resource => "resource",
            ItemKind::ResourceTemplate => "resourceTemplate",
            ItemKind::Prompt => "prompt",
        }
    }
}

pub(in crate::cli::commands) fn tools(args: &ItemListArgs) -> Result<(), CommandFailure> {
    list(args, "TOOL", &[ItemKind::Tool])
}

pub(in crate::cli::commands) fn resources(args: &ItemListArgs) -> Result<(), CommandFailure> {
    list(args, "URI", &[ItemKind::Resource, ItemKind::ResourceTemplate])
}

pub(in crate::cli::commands) fn prompts(args: &ItemListArgs) -> Result<(), CommandFailure> {
    list(args, "PROMPT", &[ItemKind::Prompt])
}

/// Lists the items of these kinds below this heading.
fn list(args: &ItemListArgs, heading: &str, kinds: &[ItemKind]) -> Result<(), CommandFailure> {
    let (items, backends) = query::with_gateway(&args.query, !args.json, async |gateway, surface| {
        setup::report_missing(gateway);
        check_server(args.server.as_deref(), gateway)?;
        let items = if args.all { offered(gateway, kinds) } else { published(&surface, kinds) };
        Ok((items, gateway.snapshot().backends.clone()))
    })?;
    let items: Vec<ItemRow> =
        items.into_iter().filter(|item| args.server.as_ref().is_none_or(|server| *server == item.server)).collect();
    if args.json {
        let items: Vec<Value> =
            items.into_iter().map(|item| json!({"server": item.server, (item.member()): item.definition})).collect();
        output::json(&items);
        return query::unless_all_failed(&backends);
    }
    let rows: Vec<Vec<String>> = items
        .into_iter()
        .map(|item| vec![item.key, item.server, table::first_line(&item.description).to_owned()])
        .collect();
    output::out(&table::render(&[heading, "SERVER", "DESCRIPTION"], &rows));
    query::unless_all_failed(&backends)
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

fn published(surface: &Surface, kinds: &[ItemKind]) -> Vec<ItemRow> {
    let entries = kinds.iter().flat_map(|kind| surface.entries(*kind));
    let row = entries.map(|entry| {
        let server = match &entry.handler {
            Handler::Backend(target) => target.backend.to_string(),
            Handler::Script(_) => entry.origin.as_ref().map(|origin| origin.backend.to_string()).unwrap_or_default(),
        };
        ItemRow::new(entry.kind, server, &entry.definition)
    });
    row.collect()
}

fn offered(gateway: &Gateway, kinds: &[ItemKind]) -> Vec<ItemRow> {
    let snapshot = gateway.snapshot();
    let mut items = Vec::new();
    for backend in &snapshot.backends {
        for kind in kinds {
            let listed = backend.lists.of(*kind).iter();
            items.extend(listed.map(|definition| ItemRow::new(*kind, backend.name.to_string(), definition)));
        }
    }
    items
}
