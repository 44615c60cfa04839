//! Warnings about policies, given what the script publishes and the servers offer.

use proxy_base::diagnostic::Diagnostic;
use proxy_config::Config;
use proxy_engine::surface::Surface;
use proxy_identity::cedar::{KnownItem, Policies, PolicyAction, lint};
use proxy_model::{BackendView, Definition, ItemKind, Snapshot, Status};

/// Errors and warnings of the section `cedar`.
pub(super) fn problems(config: &Config, surface: &Surface, snapshot: &Snapshot) -> Vec<Diagnostic> {
    let Some(cedar) = &config.cedar else { return Vec::new() };
    match Policies::load(cedar, &config.folder) {
        Ok(policies) => {
            lint(&policies, &known_items(surface, snapshot), snapshot.backends.iter().any(|one| is_unseen(one)))
        }
        Err(errors) => errors,
    }
}

/// Whether nobody knows what a server offers.
fn is_unseen(backend: &BackendView) -> bool {
    backend.status != Status::Ready && ItemKind::ALL.into_iter().all(|kind| backend.lists.of(kind).is_empty())
}

/// Everything that a policy can name.
fn known_items(surface: &Surface, snapshot: &Snapshot) -> Vec<KnownItem> {
    let published = ItemKind::ALL.into_iter().flat_map(|kind| surface.entries(kind));
    let published = published.map(|entry| known(entry.kind, entry.definition.key().to_owned(), &entry.definition));
    let searchable = surface.searchable();
    let searchable = searchable.map(|tool| known(ItemKind::Tool, tool.definition.key().to_owned(), &tool.definition));
    let offered = snapshot.backends.iter().flat_map(|backend| {
        ItemKind::ALL.into_iter().flat_map(move |kind| {
            let items = backend.lists.of(kind).iter();
            items.map(move |item| known(kind, format!("{}/{}", backend.name, item.key()), item))
        })
    });
    published.chain(searchable).chain(offered).collect()
}

fn known(kind: ItemKind, id: String, definition: &Definition) -> KnownItem {
    KnownItem { action: PolicyAction::of(kind), id, arguments: arguments(kind, definition) }
}

/// The names of the arguments; `None` if there may be others.
fn arguments(kind: ItemKind, definition: &Definition) -> Option<Vec<String>> {
    if kind != ItemKind::Tool {
        return None;
    }
    let schema = definition.member("inputSchema")?;
    let is_closed =
        ["anyOf", "oneOf", "allOf", "$ref", "patternProperties"].iter().all(|key| schema.get(key).is_none());
    let names = schema.get("properties").filter(|_| is_closed)?.as_object()?;
    Some(names.keys().cloned().collect())
}
