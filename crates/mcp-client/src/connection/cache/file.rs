//! The file of a server in the cache folder.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::cached_server::CachedServer;
use crate::connection::listing::UniqueItems;
use proxy_json::Raw;
use proxy_model::{
    Abilities, ClientProfile, Definition, Era, ItemKind, LastKnown, Lists, ServerInfo, StartFailure, ViewVariant,
};

/// The time in whole seconds, as it is in the file.
pub(super) fn now() -> SystemTime {
    time_of(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs())
}

fn time_of(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.min(u64::from(u32::MAX)))
}

fn seconds_of(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The approximate size of an entry in the file.
pub(super) fn size_of_entry(entry: &ViewVariant) -> u64 {
    let items = ItemKind::ALL.iter().flat_map(|kind| entry.lists.of(*kind));
    let lists: usize = items.map(|item| item.raw().get().len() + 1).sum();
    let info = serde_json::to_string(&*entry.info).map_or(0, |text| text.len());
    (lists + info) as u64
}

#[derive(Serialize, Deserialize)]
pub(super) struct CacheFile {
    varies: bool,
    absent: Vec<CachedEra>,
    entries: Vec<CacheEntry>,
    /// In seconds since 1970.
    #[serde(default)]
    seen: Option<u64>,
    #[serde(default)]
    failure: Option<CachedFailure>,
    #[serde(default)]
    environment: String,
}

#[derive(Serialize, Deserialize)]
struct CachedFailure {
    at: u64,
    error: String,
    #[serde(default)]
    login: bool,
    #[serde(default)]
    entry: String,
}

impl From<StartFailure> for CachedFailure {
    fn from(failure: StartFailure) -> Self {
        let StartFailure { at, error, login, entry } = failure;
        CachedFailure { at: seconds_of(at), error, login, entry }
    }
}

impl From<CachedFailure> for StartFailure {
    fn from(failure: CachedFailure) -> Self {
        let CachedFailure { at, error, login, entry } = failure;
        StartFailure { at: time_of(at), error, login, entry }
    }
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum CachedEra {
    Session,
    Stateless,
}

#[derive(Serialize, Deserialize)]
struct CacheEntry {
    era: CachedEra,
    /// The capabilities of the clients.
    abilities: Value,
    info: ServerInfo,
    tools: Vec<Raw>,
    resources: Vec<Raw>,
    resource_templates: Vec<Raw>,
    prompts: Vec<Raw>,
}

impl From<CacheFile> for CachedServer {
    fn from(file: CacheFile) -> Self {
        CachedServer {
            varies: file.varies,
            absent: file.absent.into_iter().map(Era::from).collect(),
            entries: file.entries.into_iter().map(ViewVariant::from).collect(),
            last: LastKnown { seen: file.seen.map(time_of), failure: file.failure.map(StartFailure::from) },
            environment: file.environment,
        }
    }
}

impl From<CachedServer> for CacheFile {
    fn from(known: CachedServer) -> Self {
        CacheFile {
            varies: known.varies,
            absent: known.absent.into_iter().map(CachedEra::from).collect(),
            entries: known.entries.iter().map(CacheEntry::from).collect(),
            seen: known.last.seen.map(seconds_of),
            failure: known.last.failure.map(CachedFailure::from),
            environment: known.environment,
        }
    }
}

impl From<CachedEra> for Era {
    fn from(era: CachedEra) -> Self {
        match era {
            CachedEra::Session => Era::Session,
            CachedEra::Stateless => Era::Stateless,
        }
    }
}

impl From<Era> for CachedEra {
    fn from(era: Era) -> Self {
        match era {
            Era::Session => CachedEra::Session,
            Era::Stateless => CachedEra::Stateless,
        }
    }
}

impl From<&ViewVariant> for CacheEntry {
    fn from(seen: &ViewVariant) -> Self {
        let raws = |kind| seen.lists.of(kind).iter().map(|item| Raw::clone(item.shared_raw())).collect();
        CacheEntry {
            era: seen.profile.era.into(),
            abilities: seen.profile.abilities.to_capabilities(),
            info: ServerInfo::clone(&seen.info),
            tools: raws(ItemKind::Tool),
            resources: raws(ItemKind::Resource),
            resource_templates: raws(ItemKind::ResourceTemplate),
            prompts: raws(ItemKind::Prompt),
        }
    }
}

impl From<CacheEntry> for ViewVariant {
    fn from(entry: CacheEntry) -> Self {
        let mut lists = Lists::default();
        for (kind, items) in [
            (ItemKind::Tool, entry.tools),
            (ItemKind::Resource, entry.resources),
            (ItemKind::ResourceTemplate, entry.resource_templates),
            (ItemKind::Prompt, entry.prompts),
        ] {
            let mut accepted = UniqueItems::default();
            for item in items.into_iter().filter_map(|raw| Definition::parse(kind, raw).ok()) {
                // An older version of the proxy may have cached items that are now rejected.
                let _ = accepted.add(kind, item);
            }
            *lists.of_mut(kind) = accepted.items;
        }
        ViewVariant {
            profile: ClientProfile { era: entry.era.into(), abilities: Abilities::read(&entry.abilities) },
            info: Arc::new(entry.info),
            lists: Arc::new(lists),
            lock: None,
        }
    }
}
