//! Compares what the servers offer with what a surface publishes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::edits::{changed_members, edits_of};
use super::{Became, ItemHistory};
use crate::surface::labels::rules_in_words;
use crate::surface::{ItemLabels, PublishedItem, Surface};
use proxy_builtins::{Handler, SkippedItem};
use proxy_model::lock::{ItemLock, ItemState};
use proxy_model::{BackendView, Definition, ItemKind, ItemRef, Snapshot};

/// The items of all servers in their order, and then those that the script made; one kind after the other. Blocks until the
/// search indexes of the script are built.
pub fn histories(surface: &Surface, snapshot: &Snapshot) -> Vec<ItemHistory> {
    let skipped: HashMap<&ItemRef, &SkippedItem> =
        surface.skipped().iter().map(|skipped| (&skipped.item, skipped)).collect();
    let all = ItemKind::ALL.into_iter().flat_map(|kind| histories_of(kind, surface, snapshot, &skipped));
    all.map(|history| {
        let (backend, name) = (history.server.as_str().into(), history.name.as_str().into());
        let policies = surface.policy_reason(&ItemRef { kind: history.kind, backend, name });
        let lock = lock_words(snapshot, &history);
        let (labels, flow) = labels_in_words(surface, &history).unzip();
        ItemHistory { policies, lock, labels, flow: flow.unwrap_or_default(), ..history }
    })
    .collect()
}

fn histories_of(
    kind: ItemKind,
    surface: &Surface,
    snapshot: &Snapshot,
    skipped: &HashMap<&ItemRef, &SkippedItem>,
) -> Vec<ItemHistory> {
    let mut by_source: HashMap<(&str, &str), Vec<&PublishedItem>> = HashMap::new();
    let mut made = Vec::new();
    for entry in surface.entries(kind) {
        match entry.source() {
            Some(item) => by_source.entry((&item.backend, &item.name)).or_default().push(entry),
            None => made.push(made_by_script(entry)),
        }
    }
    let found: HashSet<(&str, &str)> = match kind {
        ItemKind::Tool => surface.searchable().map(|tool| (&*tool.server, &*tool.original_name)).collect(),
        _ => HashSet::new(),
    };
    let mut all = Vec::new();
    for backend in &snapshot.backends {
        for offered in backend.lists.of(kind) {
            let source = (&*backend.name, offered.key());
            if let Some(entries) = by_source.get(&source) {
                all.extend(entries.iter().map(|entry| published(&backend.name, offered, entry)));
                continue;
            }
            let became = if found.contains(&source) { Became::Searchable } else { Became::Hidden };
            let item = ItemRef { kind, backend: backend.name.clone(), name: offered.key().into() };
            let reason = skipped.get(&item);
            all.push(ItemHistory {
                why: reason.map(|reason| reason.why.to_string()),
                skipped_at: reason.and_then(|reason| reason.site.clone()),
                ..plain(kind, &backend.name, offered.key(), became)
            });
        }
        all.extend(left_out(kind, backend));
    }
    all.extend(made);
    all
}

/// The items that a server lists and the lock leaves out.
fn left_out(kind: ItemKind, backend: &BackendView) -> Vec<ItemHistory> {
    let Some(lock) = &backend.lock else { return Vec::new() };
    let items = lock.items(kind).into_iter().filter(|(key, _)| {
        let is_listed = |listed: &Arc<Definition>| listed.key() == *key;
        !backend.lists.of(kind).iter().any(is_listed)
    });
    let history = |(key, item): (&str, &ItemLock)| ItemHistory {
        why: Some(match item.state {
            ItemState::Blocked => "the lock blocks it".to_owned(),
            _ => format!("nobody has approved it: `proxy lock {}`", backend.name),
        }),
        ..plain(kind, &backend.name, key, Became::Hidden)
    };
    items.map(history).collect()
}

fn plain(kind: ItemKind, server: &str, name: &str, became: Became) -> ItemHistory {
    ItemHistory {
        kind,
        server: server.to_owned(),
        name: name.to_owned(),
        became,
        published_as: None,
        changed: Vec::new(),
        published_at: None,
        edits: Vec::new(),
        handler: None,
        why: None,
        skipped_at: None,
        policies: None,
        lock: None,
        labels: None,
        flow: Vec::new(),
    }
}

/// How an item differs from what the lock approves.
fn lock_words(snapshot: &Snapshot, history: &ItemHistory) -> Option<String> {
    let lock = snapshot.backend(&history.server)?.lock.as_ref()?.item(history.kind, &history.name)?;
    let state = lock.state.as_str();
    match lock.state {
        ItemState::Same => None,
        ItemState::Changed | ItemState::Held => Some(format!("{state}: {}", lock.difference())),
        ItemState::New | ItemState::Unlocked | ItemState::Blocked => Some(state.to_owned()),
    }
}

/// The labels of an item with where they are from, and what the flow rules do with its calls. `None` without rules.
fn labels_in_words(surface: &Surface, history: &ItemHistory) -> Option<(String, Vec<String>)> {
    let flow = surface.flow()?;
    let entry = history.published_as.as_ref().and_then(|key| surface.find(history.kind, key));
    let mut labels = match entry {
        Some(entry) if history.became == Became::Made => {
            ItemLabels { labels: entry.labels_at_use(flow, entry.definition.key()), is_derived: false }
        }
        _ => {
            let item = ItemRef {
                kind: history.kind,
                backend: history.server.as_str().into(),
                name: history.name.as_str().into(),
            };
            surface.labels_of(flow, &item, None)
        }
    };
    if let Some(entry) = entry {
        labels.labels = labels.labels.with(&entry.labels_at_use(flow, entry.definition.key()));
    }
    let words = match (labels.labels.is_empty(), labels.is_derived) {
        (true, false) => "none".to_owned(),
        (true, true) => "none (the server says `openWorldHint: false`)".to_owned(),
        (false, false) => labels.labels.to_string(),
        (false, true) => format!("{} (derived: the server does not say `openWorldHint: false`)", labels.labels),
    };
    Some((words, rules_in_words(flow, &labels.labels)))
}

fn published(server: &str, offered: &Definition, entry: &PublishedItem) -> ItemHistory {
    let (kind, key) = (entry.kind, entry.definition.key());
    let changed = changed_members(kind, offered, &entry.definition);
    let renamed = (key != offered.key()).then(|| kind.key_member().to_owned());
    let members: Vec<String> = renamed.into_iter().chain(changed.iter().cloned()).collect();
    let (became, handler) = match &entry.handler {
        Handler::Backend(_) => (Became::Forwarded, None),
        Handler::Script(function) => (Became::Wrapped, Some(function.name())),
    };
    ItemHistory {
        published_as: Some(key.to_owned()),
        edits: edits_of(&members, entry),
        changed,
        published_at: entry.site.clone(),
        handler,
        ..plain(kind, server, offered.key(), became)
    }
}

fn made_by_script(entry: &PublishedItem) -> ItemHistory {
    let key = entry.definition.key();
    let handler = match &entry.handler {
        Handler::Backend(_) => None,
        Handler::Script(function) => Some(function.name()),
    };
    ItemHistory {
        published_as: Some(key.to_owned()),
        published_at: entry.site.clone(),
        handler,
        ..plain(entry.kind, "", key, Became::Made)
    }
}
