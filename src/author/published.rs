//! What `proxy serve` last published for a config, kept so that `proxy check` can say what a change would change.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use tokio::sync::watch;

use crate::config::Config;
use crate::gateway::Current;
use crate::json::Raw;
use crate::model::ItemKind;
use crate::process::atomic_file;
use crate::surface::Surface;

/// The file for one config.
#[derive(Clone, Debug)]
pub struct Record(PathBuf);

/// By the member that lists such items: `tools`, `resources` and so on.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Kept(HashMap<String, Vec<Raw>>);

/// Items by kind and key.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub added: Vec<(ItemKind, String)>,
    pub removed: Vec<(ItemKind, String)>,
    /// With the members of the definition that differ.
    pub changed: Vec<(ItemKind, String, Vec<String>)>,
}

impl Record {
    /// None where nothing is kept.
    pub fn of(config: &Config, cache_folder: Option<&Path>) -> Option<Self> {
        let identity = match &config.path {
            Some(path) => path.canonicalize().unwrap_or_else(|_| path.clone()).display().to_string(),
            // Without a file the servers themselves are the config.
            None => format!(
                "{}\0{}",
                config.folder.display(),
                config.servers.keys().cloned().collect::<Vec<_>>().join("\0")
            ),
        };
        let digest = Sha256::digest(identity.as_bytes());
        let short = crate::json::hex(&digest[..12]);
        Some(Record(cache_folder?.join("published").join(format!("{short}.json"))))
    }

    pub fn load(&self) -> Option<Kept> {
        serde_json::from_str(&std::fs::read_to_string(&self.0).ok()?).ok()
    }

    /// Losing it costs a comparison, so that nothing more than a line in the log comes of it.
    pub fn save(&self, surface: &Surface) {
        let kept =
            Kept(ItemKind::ALL.into_iter().map(|kind| (kind.list_member().to_owned(), raws(surface, kind))).collect());
        let saved =
            serde_json::to_vec(&kept).map_err(Into::into).and_then(|bytes| atomic_file::replace(&self.0, &bytes));
        if let Err(error) = saved {
            tracing::debug!(%error, "what is published was not kept");
        }
    }

    /// Keeps every surface, as long as there are new ones.
    pub async fn follow(self, mut current: watch::Receiver<Current>) {
        loop {
            let surface = current.borrow_and_update().surface.clone();
            if let Some(surface) = surface {
                self.save_aside(surface).await;
            }
            if current.changed().await.is_err() {
                return;
            }
        }
    }

    async fn save_aside(&self, surface: Arc<Surface>) {
        let record = self.clone();
        // It is over when the runtime is; nobody waits for the file.
        let _ = tokio::task::spawn_blocking(move || record.save(&surface)).await;
    }
}

impl Kept {
    /// What is different now.
    pub fn changes(&self, surface: &Surface) -> Changes {
        let mut changes = Changes::default();
        for kind in ItemKind::ALL {
            let before = by_key(kind, self.0.get(kind.list_member()).map(Vec::as_slice).unwrap_or_default());
            let now = by_key(kind, &raws(surface, kind));
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

impl Changes {
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

fn raws(surface: &Surface, kind: ItemKind) -> Vec<Raw> {
    surface.entries(kind).map(|entry| entry.definition.raw().to_owned()).collect()
}

type Items = indexmap::IndexMap<String, Map<String, Value>>;

fn by_key(kind: ItemKind, items: &[Raw]) -> Items {
    let parsed = items.iter().filter_map(|raw| serde_json::from_str::<Map<String, Value>>(raw.get()).ok());
    parsed.filter_map(|item| Some((item.get(kind.key_member())?.as_str()?.to_owned(), item))).collect()
}

/// The members that one has and the other has not, or has otherwise.
fn differences(before: &Map<String, Value>, now: &Map<String, Value>) -> Vec<String> {
    let same = |name: &String| match (before.get(name), now.get(name)) {
        (Some(before), Some(now)) => crate::json::canonical(before) == crate::json::canonical(now),
        (before, now) => before == now,
    };
    let gone = before.keys().filter(|name| !now.contains_key(*name));
    now.keys().chain(gone).filter(|name| !same(name)).cloned().collect()
}
