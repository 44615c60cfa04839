//! Saves what `proxy serve` published for a config, so that `proxy check` can show the effect of a config change.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use tokio::sync::watch;

use proxy_base::process::atomic_file;
use proxy_config::Config;
use proxy_engine::gateway::SharedSurface;
use proxy_engine::surface::Surface;
use proxy_json::{Raw, differences};
use proxy_model::ItemKind;

/// The file with the published items of one config.
#[derive(Clone, Debug)]
pub struct PublishedFile(PathBuf);

/// Published definitions by the list member of their kind: `tools`, `resources` and so on.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct PublishedItems(HashMap<String, Vec<Raw>>);

/// The difference between two sets of published items, which are identified by kind and key.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PublishedChanges {
    pub added: Vec<(ItemKind, String)>,
    pub removed: Vec<(ItemKind, String)>,
    /// Each with the members of its definition that differ.
    pub changed: Vec<(ItemKind, String, Vec<String>)>,
}

impl PublishedFile {
    /// None without a cache folder.
    pub fn of(config: &Config, cache_folder: Option<&Path>) -> Option<Self> {
        let identity = match &config.path {
            Some(path) => path.canonicalize().unwrap_or_else(|_| path.clone()).display().to_string(),
            // A config without a file is identified by its folder and servers.
            None => format!(
                "{}\0{}",
                config.folder.display(),
                config.servers.keys().cloned().collect::<Vec<_>>().join("\0")
            ),
        };
        // What a profile publishes is compared with what it has published before.
        let profile = config.selection.as_ref().map(|selection| format!("\0{}", selection.profile));
        let identity = identity + profile.as_deref().unwrap_or_default();
        let digest = Sha256::digest(identity.as_bytes());
        let short = proxy_json::hex(&digest[..12]);
        Some(PublishedFile(cache_folder?.join("published").join(format!("{short}.json"))))
    }

    pub fn load(&self) -> Option<PublishedItems> {
        serde_json::from_str(&std::fs::read_to_string(&self.0).ok()?).ok()
    }

    /// Writes the items of a surface. A failure is only logged: the file is needed for nothing but the comparison.
    pub fn save(&self, surface: &Surface) {
        let items = ItemKind::ALL.into_iter().map(|kind| (kind.list_member().to_owned(), definitions(surface, kind)));
        let items = PublishedItems(items.collect());
        let saved =
            serde_json::to_vec(&items).map_err(Into::into).and_then(|bytes| atomic_file::replace(&self.0, &bytes));
        if let Err(error) = saved {
            tracing::debug!(%error, "cannot save the published items");
        }
    }

    /// Saves every new surface, until the sender is dropped.
    pub async fn follow(self, mut current: watch::Receiver<SharedSurface>) {
        loop {
            let surface = current.borrow_and_update().surface.clone();
            if let Some(surface) = surface {
                self.save_in_background(surface).await;
            }
            if current.changed().await.is_err() {
                return;
            }
        }
    }

    async fn save_in_background(&self, surface: Arc<Surface>) {
        let record = self.clone();
        // The task fails only at the shutdown of the runtime.
        let _ = tokio::task::spawn_blocking(move || record.save(&surface)).await;
    }
}

impl PublishedItems {
    /// The difference between these items and those of a surface.
    pub fn changes(&self, surface: &Surface) -> PublishedChanges {
        let mut changes = PublishedChanges::default();
        for kind in ItemKind::ALL {
            let before = by_key(kind, self.0.get(kind.list_member()).map(Vec::as_slice).unwrap_or_default());
            let now = by_key(kind, &definitions(surface, kind));
            for (key, definition) in &now {
                match before.get(key).map(|earlier| differences(earlier, definition)) {
                    None => changes.added.push((kind, key.clone())),
                    Some(members) if members.is_empty() => {}
                    Some(members) => changes.changed.push((kind, key.clone(), members)),
                }
            }
            changes.removed.extend(before.keys().filter(|key| !now.contains_key(*key)).map(|key| (kind, key.clone())));
        }
        changes
    }
}

impl PublishedChanges {
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }

    pub fn to_json(&self) -> Value {
        let plain = |items: &[(ItemKind, String)]| -> Vec<Value> {
            items.iter().map(|(kind, key)| json!({"kind": kind.noun(), "name": key})).collect()
        };
        let changed: Vec<Value> = self
            .changed
            .iter()
            .map(|(kind, key, members)| json!({"kind": kind.noun(), "name": key, "members": members}))
            .collect();
        json!({"added": plain(&self.added), "removed": plain(&self.removed), "changed": changed})
    }
}

fn definitions(surface: &Surface, kind: ItemKind) -> Vec<Raw> {
    surface.entries(kind).map(|entry| entry.definition.raw().to_owned()).collect()
}

fn by_key(kind: ItemKind, items: &[Raw]) -> IndexMap<String, Map<String, Value>> {
    let parsed = items.iter().filter_map(|raw| serde_json::from_str::<Map<String, Value>>(raw.get()).ok());
    parsed.filter_map(|item| Some((item.get(kind.key_member())?.as_str()?.to_owned(), item))).collect()
}
