//! `catalog`: what servers and extensions offer, as far as it is known without starting anything.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::cli::failure::CommandFailure;
use crate::cli::output;
use crate::cli::setup::{self, SourceArgs};
use proxy_base::diagnostic::Diagnostic;
use proxy_engine::gateway::Offline;
use proxy_model::{BackendView, Definition, ItemKind, Status};

/// The command of the child process.
pub(in crate::cli) const COMMAND: &str = "catalog";

/// How much of a description is in a list.
const MAX_DESCRIPTION: usize = 160;
/// How much a list may have in bytes. What is left out is counted.
const MAX_LIST: usize = 160 << 10;

/// What to list.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Selection {
    /// The config file.
    pub(super) config: Option<String>,
    pub(super) profile: Option<String>,
    pub(super) server: Option<String>,
    /// A name or a pattern. Items that are named are listed with their whole definition.
    pub(super) name: Option<String>,
}

impl Selection {
    pub(super) fn command(&self) -> Vec<String> {
        vec![COMMAND.to_owned(), serde_json::to_string(self).unwrap_or_default()]
    }
}

/// Prints the catalog. The argument is a [`Selection`].
pub(in crate::cli) fn run(argument: &str) -> Result<(), CommandFailure> {
    let wrong = |problem: String| CommandFailure::usage(format!("`name`: {problem}"));
    let selection: Selection = serde_json::from_str(argument).map_err(|error| wrong(error.to_string()))?;
    let pattern = selection.name.as_deref().map(glob::Pattern::new).transpose();
    let pattern = pattern.map_err(|error| wrong(error.to_string()))?;
    let config = selection.config.map(Into::into).into_iter().collect();
    let loaded = SourceArgs::of_servers(config, Vec::new()).under(selection.profile.as_deref()).load()?;
    let offline = Offline::look(&loaded.config, &setup::options(loaded.bundled)?).map_err(CommandFailure::config)?;
    let backends = &offline.snapshot.backends;
    let known: Vec<&str> = backends.iter().map(|backend| &*backend.name).collect();
    if let Some(server) = selection.server.as_deref().filter(|server| !known.contains(server)) {
        let problem = Diagnostic::error(format!("unknown server `{server}`"));
        return Err(CommandFailure::failed(problem.hint(format!("known servers: {}", known.join(", ")))));
    }
    let chosen =
        backends.iter().filter(|backend| selection.server.as_deref().is_none_or(|name| *backend.name == *name));
    let mut servers = Vec::new();
    let mut items = ItemList::default();
    for backend in chosen {
        servers.push(described(backend));
        for kind in ItemKind::ALL {
            let offered = backend.lists.of(kind).iter();
            let named = offered.filter(|item| pattern.as_ref().is_none_or(|pattern| pattern.matches(item.key())));
            named.for_each(|item| items.add(backend, kind, item, pattern.is_some()));
        }
    }
    let problems: Vec<Value> = offline.extension_problems.iter().map(Diagnostic::to_json).collect();
    output::json(&json!({
        "servers": servers,
        "items": items.listed,
        "leftOut": items.left_out,
        "problems": problems,
    }));
    Ok(())
}

fn described(backend: &BackendView) -> Value {
    let state = match backend.status {
        Status::Starting => "never seen: a person can run `proxy check --live`, which starts it".to_owned(),
        Status::Cached | Status::Resting => "as last seen".to_owned(),
        Status::Ready => "extension".to_owned(),
        Status::PerPerson => "lists its tools for each person".to_owned(),
        Status::Failed | Status::Login => proxy_model::error_line(&backend.error),
    };
    json!({"name": &*backend.name, "tools": backend.lists.tools.len(), "state": state})
}

#[derive(Default)]
struct ItemList {
    listed: Vec<Value>,
    bytes: usize,
    left_out: usize,
}

impl ItemList {
    fn add(&mut self, backend: &BackendView, kind: ItemKind, item: &Definition, is_whole: bool) {
        let entry = if is_whole { whole(backend, kind, item) } else { brief(backend, kind, item) };
        let size = entry.to_string().len();
        if self.bytes + size > MAX_LIST {
            self.left_out += 1;
            return;
        }
        self.bytes += size;
        self.listed.push(entry);
    }
}

fn whole(backend: &BackendView, kind: ItemKind, item: &Definition) -> Value {
    let definition: Value = serde_json::from_str(item.raw().get()).unwrap_or_default();
    json!({"server": &*backend.name, "kind": kind.noun(), "definition": definition})
}

fn brief(backend: &BackendView, kind: ItemKind, item: &Definition) -> Value {
    let text = item.text("description");
    let mut description: String = text.chars().take(MAX_DESCRIPTION).collect();
    if description.len() < text.len() {
        description.push('…');
    }
    let mut entry = Map::new();
    entry.insert("server".to_owned(), json!(&*backend.name));
    entry.insert("kind".to_owned(), json!(kind.noun()));
    entry.insert("name".to_owned(), json!(item.key()));
    entry.insert("description".to_owned(), json!(description));
    if let Some(annotations) = item.member("annotations") {
        entry.insert("annotations".to_owned(), annotations);
    }
    entry.into()
}
