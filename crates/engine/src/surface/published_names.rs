//! The names under which items of servers are known to clients.

use std::collections::HashMap;
use std::sync::Arc;

use super::published_item::PublishedItem;
use proxy_builtins::Handler;
use proxy_model::{ItemKind, ItemRef};
use proxy_search::Tool;

/// The names under which items of servers are published or found by search.
#[derive(Debug)]
pub(super) struct PublishedNames(HashMap<ItemRef, Vec<Arc<str>>>);

impl PublishedNames {
    pub(super) fn of<'a>(
        entries: impl Iterator<Item = &'a PublishedItem>,
        searchable: impl Iterator<Item = &'a Tool>,
    ) -> Self {
        let mut names: HashMap<ItemRef, Vec<Arc<str>>> = HashMap::new();
        for entry in entries {
            let target = match &entry.handler {
                Handler::Backend(target) => Some(target),
                Handler::Script(_) => None,
            };
            for item in target.into_iter().chain(entry.origin.as_ref().filter(|origin| Some(*origin) != target)) {
                names.entry(item.clone()).or_default().push(entry.definition.key().into());
            }
        }
        for tool in searchable.filter(|tool| !tool.server.is_empty()) {
            let backend = Arc::clone(&tool.server);
            let item = ItemRef { backend, kind: ItemKind::Tool, name: Arc::clone(&tool.original_name) };
            names.entry(item).or_default().push(tool.definition.key().into());
        }
        PublishedNames(names)
    }

    pub(super) fn of_item(&self, item: &ItemRef) -> &[Arc<str>] {
        self.0.get(item).map(Vec::as_slice).unwrap_or_default()
    }
}
