//! What became of each item that a server offers: published as it is, under another name, with a handler of the script,
//! only found by search, or hidden.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use crate::author::published::changed_members;
use crate::builtins::Handler;
use crate::model::{ItemKind, Snapshot};
use crate::surface::{PublishedItem, Surface};

/// An item of a server or of the script, and what a client sees of it.
#[derive(Debug, PartialEq, Eq)]
pub struct ItemFate {
    pub kind: ItemKind,
    /// The server; empty if the script made the item.
    pub server: String,
    /// The name or URI at the server; for an item of the script, the published one.
    pub name: String,
    pub became: Became,
    /// The published name or URI, unless it is hidden or only found by search.
    pub published: Option<String>,
    /// The members of the definition that the script changed, other than the name or URI.
    pub changed: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Became {
    /// Calls go to the server without running the script.
    Forwarded,
    /// A function of the script handles the calls.
    Wrapped,
    /// Not listed, but `find_tool` or code mode reaches it.
    Searchable,
    Hidden,
    /// The script made it.
    Made,
}

impl Became {
    pub const ALL: [Became; 5] = [Became::Forwarded, Became::Wrapped, Became::Searchable, Became::Hidden, Became::Made];

    pub fn as_str(self) -> &'static str {
        match self {
            Became::Forwarded => "forwarded",
            Became::Wrapped => "wrapped",
            Became::Searchable => "searchable",
            Became::Hidden => "hidden",
            Became::Made => "made by the script",
        }
    }
}

impl ItemFate {
    pub fn is_renamed(&self) -> bool {
        self.published.as_ref().is_some_and(|published| *published != self.name)
    }

    pub fn to_json(&self) -> Value {
        json!({
            "kind": self.kind.noun(),
            "server": self.server,
            "name": self.name,
            "became": if self.became == Became::Made { "made" } else { self.became.as_str() },
            "publishedAs": self.published,
            "changed": self.changed,
        })
    }
}

/// The items of all servers in their order, and then those that the script made.
pub(super) fn fates(surface: &Surface, snapshot: &Snapshot) -> Vec<ItemFate> {
    ItemKind::ALL.into_iter().flat_map(|kind| fates_of(kind, surface, snapshot)).collect()
}

fn fates_of(kind: ItemKind, surface: &Surface, snapshot: &Snapshot) -> Vec<ItemFate> {
    let mut by_source: HashMap<(&str, &str), Vec<&PublishedItem>> = HashMap::new();
    let mut made = Vec::new();
    for entry in surface.entries(kind) {
        let target = match &entry.handler {
            Handler::Backend(target) => Some(target),
            Handler::Script(_) => entry.origin.as_ref(),
        };
        match target {
            Some(item) => by_source.entry((&item.backend, &item.name)).or_default().push(entry),
            None => made.push(ItemFate {
                kind,
                server: String::new(),
                name: entry.definition.key().to_owned(),
                became: Became::Made,
                published: Some(entry.definition.key().to_owned()),
                changed: Vec::new(),
            }),
        }
    }
    let found: HashSet<(&str, &str)> = match kind {
        ItemKind::Tool => surface.searchable().map(|tool| (&*tool.server, &*tool.original_name)).collect(),
        _ => HashSet::new(),
    };
    let mut fates = Vec::new();
    for backend in &snapshot.backends {
        for offered in backend.lists.of(kind) {
            let source = (&*backend.name, offered.key());
            let fate = |became, entry: Option<&PublishedItem>| ItemFate {
                kind,
                server: backend.name.to_string(),
                name: offered.key().to_owned(),
                became,
                published: entry.map(|entry| entry.definition.key().to_owned()),
                changed: entry.map(|entry| changed_members(kind, offered, &entry.definition)).unwrap_or_default(),
            };
            match by_source.get(&source) {
                Some(entries) => fates.extend(entries.iter().map(|entry| match entry.handler {
                    Handler::Backend(_) => fate(Became::Forwarded, Some(entry)),
                    Handler::Script(_) => fate(Became::Wrapped, Some(entry)),
                })),
                None if found.contains(&source) => fates.push(fate(Became::Searchable, None)),
                None => fates.push(fate(Became::Hidden, None)),
            }
        }
    }
    fates.extend(made);
    fates
}
