//! `proxy list-tools`, `list-resources` and `list-prompts`: list what a client sees.

use clap::Args;
use serde_json::{Value, json};

use crate::admin::{ReportedItem, SurfaceReport};
use crate::cli::failure::CommandFailure;
use crate::cli::query::{self, QueryArgs};
use crate::cli::{output, table};
use proxy_base::diagnostic::{Diagnostic, nearest};
use proxy_json::Raw;
use proxy_model::ItemKind;

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

/// The member of the JSON output that has the definition.
fn member(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Tool => "tool",
        ItemKind::Resource => "resource",
        ItemKind::ResourceTemplate => "resourceTemplate",
        ItemKind::Prompt => "prompt",
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
    let loaded = args.query.load()?;
    let report = query::answer(&args.query.query(&loaded, args.json)?, async |answers| {
        let report = answers.report().await?;
        query::report_missing(answers, &report);
        check_server(args.server.as_deref(), &report)?;
        Ok(report)
    })?;
    let is_shown = |item: &&ReportedItem| args.server.as_ref().is_none_or(|server| *server == item.server);
    let items: Vec<&ReportedItem> = match args.all {
        // Grouped by server, each with all kinds.
        true => report.offered.iter().filter(|item| kinds.contains(&item.kind)).filter(is_shown).collect(),
        false => kinds.iter().flat_map(|kind| report.of_kind(*kind)).filter(is_shown).collect(),
    };
    if args.json {
        let definition = |item: &ReportedItem| Raw::clone(item.definition.shared_raw());
        let items: Vec<Value> = items
            .into_iter()
            .map(|item| json!({"server": item.server, (member(item.kind)): definition(item)}))
            .collect();
        output::json(&items);
        return query::unless_all_failed(&report.servers);
    }
    let row = |item: &ReportedItem| {
        let description = item.definition.text("description");
        vec![item.definition.key().to_owned(), item.server.clone(), table::first_line(&description).to_owned()]
    };
    let rows: Vec<Vec<String>> = items.into_iter().map(row).collect();
    output::out(&table::render(&[heading, "SERVER", "DESCRIPTION"], &rows));
    if rows.is_empty() {
        output::status_line(match (report.servers.is_empty(), args.all) {
            (true, _) => {
                "the config has no servers and no extensions: add some, or import servers with `proxy init --from`"
            }
            (false, true) => "the servers offer none",
            (false, false) => "none is published; `--all` lists what the servers offer",
        });
    }
    query::unless_all_failed(&report.servers)
}

fn check_server(name: Option<&str>, report: &SurfaceReport) -> Result<(), CommandFailure> {
    let names: Vec<&str> = report.servers.iter().map(|server| server.name.as_str()).collect();
    let Some(name) = name.filter(|name| !names.contains(name)) else { return Ok(()) };
    let diagnostic = Diagnostic::error(format!("unknown server `{name}`"));
    Err(CommandFailure::failed(match nearest(name, names.iter().copied()) {
        Some(near) => diagnostic.hint(format!("did you mean `{near}`?")),
        None => diagnostic.hint(format!("known servers: {}", names.join(", "))),
    }))
}
