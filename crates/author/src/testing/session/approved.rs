//! What a test says was approved of a server before it changed.

use std::sync::Arc;

use proxy_model::lock::{IgnoredText, Lock, LockFile, LockMode, LockRules, LockedServer, SeenLists};
use proxy_model::{BackendView, ClientProfile, Definition, DefinitionError, ItemKind, Lists};

/// The items that were approved, and what the lock does with changes.
#[derive(Clone, Debug)]
pub(crate) struct Approved {
    pub(crate) mode: LockMode,
    pub(crate) items: Vec<(ItemKind, Arc<Definition>)>,
}

impl Approved {
    /// What is published of a server that now has this view.
    ///
    /// # Errors
    /// If a definition is invalid.
    pub(crate) fn published(&self, view: &BackendView) -> Result<BackendView, DefinitionError> {
        let rules = LockRules {
            mode: self.mode,
            ignore: IgnoredText::default(),
            resources: self.items.iter().any(|(kind, _)| *kind == ItemKind::Resource),
            identity: String::new(),
        };
        let mut lists = Lists::default();
        for (kind, definition) in &self.items {
            lists.of_mut(*kind).push(Arc::clone(definition));
        }
        let profile = ClientProfile::SESSION;
        let seen = SeenLists { profile, info: Arc::clone(&view.info), lists: Arc::new(lists) };
        let server = LockedServer::approving(None, &[seen], &rules, &|_, _| true, true)?;
        let name = view.name.to_string();
        let lock = Lock {
            path: "proxy.lock".into(),
            is_found: true,
            file: Arc::new(LockFile { servers: [(name.clone(), server)].into() }),
            rules: [(name, rules)].into(),
        };
        Ok(lock.published(view, profile))
    }
}
