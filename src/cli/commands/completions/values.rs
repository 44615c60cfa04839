//! The possible values of an argument, from the servers' cached lists. Starts no server.

use serde_json::Value;

use crate::cli::commands::explain::outcome;
use crate::cli::failure::CommandFailure;
use crate::cli::setup::{self, SourceArgs};
use crate::cli::table;
use proxy_base::foreign_text::visible;
use proxy_builtins::presets::PRESETS;
use proxy_engine::gateway::Offline;
use proxy_engine::surface::{ItemHistory, histories};
use proxy_model::{BackendKind, ItemKind};

/// The length of a description, in characters.
const DESCRIPTION: usize = 80;

/// A candidate for completion.
#[derive(Debug, PartialEq)]
pub(super) struct Candidate {
    pub(super) value: String,
    /// One line; may be empty.
    pub(super) description: String,
}

impl Candidate {
    pub(super) fn new(value: impl Into<String>, description: &str) -> Self {
        let line = table::first_line(description).replace('\t', " ");
        Candidate { value: value.into(), description: table::cut(&visible(&line), DESCRIPTION) }
    }
}

/// The kinds of names that are not part of the command line itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum NameKind {
    Item(ItemKind),
    /// An item of any kind, published or not.
    OfferedOrPublished,
    Server,
    /// A server that supports `proxy login`.
    RemoteServer,
    Preset,
}

/// The names of this kind; none if the config or its script has errors.
pub(super) fn last_known(kind: NameKind, source: &SourceArgs) -> Vec<Candidate> {
    let found = match kind {
        NameKind::Preset => PRESETS.iter().map(|preset| Candidate::new(preset.full_name(), preset.summary)).collect(),
        NameKind::Server => servers(source, |_| true).unwrap_or_default(),
        NameKind::RemoteServer => servers(source, |kind| kind == BackendKind::Http).unwrap_or_default(),
        NameKind::Item(kind) => items(kind, source).unwrap_or_default(),
        NameKind::OfferedOrPublished => offered_or_published(source).unwrap_or_default(),
    };
    found.into_iter().filter(|candidate| can_be_typed(&candidate.value)).collect()
}

/// Whether a name can be an argument of a command: it must not look like an option or contain invisible characters.
fn can_be_typed(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('-') && visible(name) == name && !name.contains(['\n', '\t'])
}

fn servers(source: &SourceArgs, fits: impl Fn(BackendKind) -> bool) -> Result<Vec<Candidate>, CommandFailure> {
    let offline = offline(source)?;
    let backends = offline.snapshot.backends.iter().filter(|backend| fits(backend.kind));
    Ok(backends
        .map(|backend| {
            let tools = table::count(backend.lists.tools.len(), "tool");
            Candidate::new(backend.name.as_ref(), &format!("{}, {tools}", backend.kind.as_str()))
        })
        .collect())
}

/// The arguments of an item: `name=`, and `name=value` where the schema lists the values.
pub(super) fn arguments(kind: ItemKind, item: &str, source: &SourceArgs) -> Vec<Candidate> {
    let surface = offline(source).and_then(|offline| offline.build().map_err(|error| CommandFailure::from(&error)));
    let entry =
        surface.as_ref().ok().and_then(|surface| surface.entries(kind).find(|entry| entry.definition.key() == item));
    let Some(definition) = entry.map(|entry| &entry.definition) else { return Vec::new() };
    let found: Vec<(String, Value)> = match kind {
        ItemKind::Prompt => {
            let arguments = definition.member("arguments").unwrap_or_default();
            let named = |argument: &Value| Some((argument["name"].as_str()?.to_owned(), argument.clone()));
            arguments.as_array().into_iter().flatten().filter_map(named).collect()
        }
        _ => {
            let schema = definition.member("inputSchema").unwrap_or_default();
            schema["properties"].as_object().cloned().unwrap_or_default().into_iter().collect()
        }
    };
    found.iter().flat_map(|(name, schema)| argument(name, schema)).filter(|found| can_be_typed(&found.value)).collect()
}

fn argument(name: &str, schema: &Value) -> Vec<Candidate> {
    let text = schema["description"].as_str().unwrap_or_default();
    let choices: Vec<String> = match (&schema["enum"], schema["type"].as_str()) {
        (Value::Array(choices), _) => {
            choices.iter().map(|choice| choice.as_str().map_or_else(|| choice.to_string(), str::to_owned)).collect()
        }
        (_, Some("boolean")) => ["true", "false"].map(str::to_owned).to_vec(),
        _ => Vec::new(),
    };
    if choices.is_empty() {
        return vec![Candidate::new(format!("{name}="), text)];
    }
    choices.iter().map(|choice| Candidate::new(format!("{name}={choice}"), text)).collect()
}

fn items(kind: ItemKind, source: &SourceArgs) -> Result<Vec<Candidate>, CommandFailure> {
    let surface = offline(source)?.build().map_err(|error| CommandFailure::from(&error))?;
    let described = |member: &str, entry: &proxy_engine::surface::PublishedItem| entry.definition.text(member);
    Ok(surface
        .entries(kind)
        .map(|entry| {
            let text = match described("description", entry) {
                none if none.is_empty() => described("title", entry),
                text => text,
            };
            Candidate::new(entry.definition.key(), &text)
        })
        .collect())
}

fn offered_or_published(source: &SourceArgs) -> Result<Vec<Candidate>, CommandFailure> {
    let offline = offline(source)?;
    let surface = offline.build().map_err(|error| CommandFailure::from(&error))?;
    let items = histories(&surface, &offline.snapshot);
    let candidate = |item: &ItemHistory| {
        let text = format!("{}, {}", item.kind.noun(), outcome(item));
        Candidate::new(item.published_as.as_ref().unwrap_or(&item.name), &text)
    };
    Ok(items.iter().map(candidate).collect())
}

fn offline(source: &SourceArgs) -> Result<Offline, CommandFailure> {
    let loaded = source.load_without_commands()?;
    let options = setup::options(loaded.bundled)?;
    Offline::look(&loaded.config, &options).map_err(CommandFailure::config)
}
