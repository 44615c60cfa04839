//! The names of server items in policies: the published name, or else the name of the tool in a search index, or else
//! `server/name`.

use std::collections::HashMap;
use std::sync::Arc;

use super::published_surface::Surface;
use proxy_builtins::Handler;
use proxy_model::{Definition, ItemKind, ItemRef};

/// An item of a server as policies know it.
#[derive(Clone, Debug)]
pub struct NamedItem {
    pub name: Arc<str>,
    pub definition: Option<Arc<Definition>>,
}

#[derive(Debug)]
pub(super) struct ServerItems(HashMap<ItemRef, NamedItem>);

impl ServerItems {
    fn of(surface: &Surface) -> Self {
        let mut named: HashMap<ItemRef, NamedItem> = HashMap::new();
        let mut add = |item: &ItemRef, definition: &Arc<Definition>| {
            let new = || NamedItem { name: definition.key().into(), definition: Some(Arc::clone(definition)) };
            named.entry(item.clone()).or_insert_with(new);
        };
        let entries = || ItemKind::ALL.into_iter().flat_map(|kind| surface.entries(kind));
        for entry in entries() {
            if let Handler::Backend(target) = &entry.handler {
                add(target, &entry.definition);
            }
        }
        for entry in entries() {
            if let Some(origin) = &entry.origin {
                add(origin, &entry.definition);
            }
        }
        for tool in surface.indexes().iter().flat_map(|index| index.tools()) {
            if !tool.server.is_empty() {
                let (backend, name) = (Arc::clone(&tool.server), Arc::clone(&tool.original_name));
                add(&ItemRef { backend, kind: ItemKind::Tool, name }, &tool.definition);
            }
        }
        ServerItems(named)
    }
}

impl Surface {
    /// The name of a server's item in policies, regardless of who may see it.
    pub fn named(&self, item: &ItemRef) -> NamedItem {
        let base = self.permitted.as_ref().map_or(self, |permitted| &permitted.base);
        let known = base.server_items.get_or_init(|| ServerItems::of(base)).0.get(item);
        known.cloned().unwrap_or_else(|| {
            let definitions = base.origin().backend(&item.backend).map(|backend| backend.lists.of(item.kind));
            let definition = definitions.into_iter().flatten().find(|known| known.key() == item.name.as_ref());
            NamedItem { name: format!("{}/{}", item.backend, item.name).into(), definition: definition.cloned() }
        })
    }
}
