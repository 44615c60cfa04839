//! `proxy explain`: why an item is published, renamed, rewritten, wrapped or hidden, with the lines of the script.

mod client;
mod words;

use clap::Args;

use crate::cli::failure::CommandFailure;
use crate::cli::query::{self, ActingUser, Query, QueryArgs};
use crate::cli::setup::{self, LoadedConfig};
use crate::cli::{output, table};
use proxy_base::diagnostic::{Diagnostic, nearest};
use proxy_engine::gateway::Offline;
use proxy_engine::surface::{ItemHistory, histories};
use proxy_model::{ItemKind, Snapshot, Status, UriTemplate, problem};

pub(super) use words::outcome;

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// Published name or URI, the server's name or URI for the item, or SERVER/NAME [default: all items]
    name: Option<String>,
    /// Show how clients of a row of limits get the tool, such as `gemini-cli`, from the last known lists
    #[arg(long, value_name = "ROW", requires = "name", conflicts_with = "live")]
    client: Option<String>,
    #[command(flatten)]
    query: QueryArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The items, and a note for each server without known lists.
struct Explained {
    items: Vec<ItemHistory>,
    unknown_servers: Vec<String>,
}

pub(super) fn run(args: &ExplainArgs) -> Result<(), CommandFailure> {
    let loaded = args.query.load()?;
    let user = args.query.user.user(&loaded.config)?;
    if let (Some(row), Some(name)) = (args.client.as_deref(), args.name.as_deref()) {
        return client::run(&loaded, user, name, row, args.json);
    }
    let option = user.option();
    let explained = if args.query.servers.live {
        live(&loaded, user)?
    } else {
        match running(&args.query.query(&loaded, args.json)?)? {
            Some(explained) => explained,
            None => last_known(&loaded, user)?,
        }
    };
    let items: Vec<&ItemHistory> = match &args.name {
        Some(name) => matching(name, &explained.items),
        None => explained.items.iter().collect(),
    };
    if let Some(name) = args.name.as_deref().filter(|_| items.is_empty()) {
        return Err(unknown(name, &explained, &option));
    }
    if args.json {
        output::json(&items);
    } else if args.name.is_some() {
        output::out(&items.iter().map(|item| words::paragraph(item)).collect::<Vec<_>>().join("\n\n"));
    } else {
        explained.unknown_servers.iter().for_each(|note| output::status_line(note));
        show_all(&items);
    }
    Ok(())
}

/// The report of a running proxy with this config.
fn running(query: &Query<'_>) -> Result<Option<Explained>, CommandFailure> {
    let Some(report) = query::histories_of_running(query)? else { return Ok(None) };
    let unknown_servers = report.servers.iter().filter_map(|server| problem(&server.name, &server.error));
    Ok(Some(Explained { unknown_servers: unknown_servers.collect(), items: report.histories }))
}

/// Runs the script over the last known lists, as `proxy check` does.
fn last_known(loaded: &LoadedConfig, user: ActingUser) -> Result<Explained, CommandFailure> {
    let offline = Offline::look(&loaded.config, &setup::options(loaded.bundled)?).map_err(CommandFailure::config)?;
    output::diagnostics(&offline.extension_problems);
    let surface = offline.build_for(user.principal).map_err(|error| CommandFailure::from(&error))?;
    let items = histories(&surface, &offline.snapshot);
    Ok(Explained { items, unknown_servers: unknown_servers(&offline.snapshot) })
}

fn live(loaded: &LoadedConfig, user: ActingUser) -> Result<Explained, CommandFailure> {
    query::with_loaded(loaded, user, async |gateway, surface| {
        output::diagnostics(&gateway.extension_problems());
        let snapshot = gateway.snapshot();
        let items = histories(&surface, &snapshot);
        Ok(Explained { items, unknown_servers: unknown_servers(&snapshot) })
    })
}

/// A sentence about each server without known lists.
fn unknown_servers(snapshot: &Snapshot) -> Vec<String> {
    let sentence = |name: &str, status: Status, problem: Option<String>| match status {
        Status::Starting => Some(format!("server `{name}` was never seen: --live starts it")),
        _ => problem,
    };
    snapshot.backends.iter().filter_map(|view| sentence(&view.name, view.status, view.problem())).collect()
}

/// The items of this published name or of this name at a server. A URI without an item may match a resource template.
fn matching<'a>(name: &str, items: &'a [ItemHistory]) -> Vec<&'a ItemHistory> {
    let is_called = |item: &ItemHistory, name: &str| item.name == name || item.published_as.as_deref() == Some(name);
    let found: Vec<_> = items.iter().filter(|item| is_called(item, name)).collect();
    if !found.is_empty() {
        return found;
    }
    if let Some((server, name)) = name.split_once('/') {
        let found: Vec<_> = items.iter().filter(|item| item.server == server && is_called(item, name)).collect();
        if !found.is_empty() {
            return found;
        }
    }
    let covers = |template: &str| UriTemplate::parse(template).is_some_and(|parsed| parsed.variables(name).is_some());
    let templates = items.iter().filter(|item| item.kind == ItemKind::ResourceTemplate);
    templates.filter(|item| covers(item.published_as.as_deref().unwrap_or(&item.name))).collect()
}

fn unknown(name: &str, explained: &Explained, user: &str) -> CommandFailure {
    let mut diagnostic = Diagnostic::error(format!("no server offers `{name}`, and the script does not create it"));
    for note in &explained.unknown_servers {
        diagnostic = diagnostic.note(note);
    }
    let names = explained.items.iter().flat_map(|item| [Some(&item.name), item.published_as.as_ref()]);
    let own = name.split_once('/').map_or(name, |(_, name)| name);
    let names: Vec<&str> = names.flatten().map(String::as_str).collect();
    let near = nearest(name, names.iter().copied()).or_else(|| nearest(own, names.iter().copied()));
    CommandFailure::failed(match near {
        Some(near) => diagnostic.hint(format!("did you mean `{near}`?")),
        None => diagnostic.hint(format!("`proxy explain{user}` without a name lists all items")),
    })
}

fn show_all(items: &[&ItemHistory]) {
    for kind in ItemKind::ALL {
        let items = items.iter().filter(|item| item.kind == kind);
        let rows: Vec<Vec<String>> = items
            .map(|item| {
                let line = item.decided_at().and_then(|site| site.line());
                vec![
                    item.name.clone(),
                    item.server.clone(),
                    words::outcome(item),
                    line.map(ToString::to_string).unwrap_or_default(),
                    words::reason(item).or_else(|| words::rename_reason(item)).unwrap_or_default(),
                ]
            })
            .collect();
        if !rows.is_empty() {
            output::out(&table::render(&[&kind.noun().to_uppercase(), "SERVER", "RESULT", "AT", "WHY"], &rows));
            output::out("");
        }
    }
}
