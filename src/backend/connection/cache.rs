//! What is known of every server, in the user's cache folder: the eras it speaks and its last known lists, for each kind
//! of client that saw others. The lists are published while a server is down, and `check` uses them without starting any
//! server.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::listing::UniqueItems;
use crate::config::{ServerConfig, TransportConfig};
use crate::json::Raw;
use crate::model::{
    Abilities, ClientProfile, Definition, Era, ItemKind, LastKnown, Lists, ServerInfo, StartFailure, ViewVariant,
};
use crate::process::atomic_file;

/// The maximum number of profiles whose lists are kept for a server.
const MAX_ENTRIES: usize = 16;
/// What the file of a server may have beside one list of the maximum size.
const MAX_BESIDE_LIST: u64 = 1 << 20;
/// What of it is kept for names and brackets.
const MAX_FRAME: u64 = 64 << 10;
/// The maximum length of the error of a failed start, in characters.
const MAX_ERROR: usize = 2000;

/// The maximum size of a server's file.
fn max_file_bytes(server: &ServerConfig) -> u64 {
    server.max_list_bytes.saturating_add(MAX_BESIDE_LIST)
}

/// The cache folder. Without one nothing is cached.
#[derive(Clone, Debug, Default)]
pub struct Cache {
    folder: Option<PathBuf>,
    /// Held while a file is changed, so that no change of this process is lost. Of two processes that change a file at once,
    /// the later one wins.
    writing: Arc<Mutex<()>>,
}

/// What is known of a server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CachedServer {
    /// Whether the server's lists depend on what its clients can be asked.
    pub varies: bool,
    /// The eras that the server was found not to speak.
    pub absent: Vec<Era>,
    /// What clients of each profile saw, last seen first.
    pub entries: Vec<ViewVariant>,
    /// When the server last started and when it last did not.
    pub last: LastKnown,
}

impl CachedServer {
    /// What clients of this profile see: what they saw last, else what clients with fewer abilities saw, else what anybody
    /// saw.
    pub fn entry(&self, profile: ClientProfile) -> Option<&ViewVariant> {
        let of_era = self.entries.iter().filter(|entry| entry.profile.era == profile.era);
        let fitting = of_era.clone().filter(|entry| entry.profile.abilities.is_subset_of(profile.abilities));
        fitting
            .max_by_key(|entry| entry.profile.abilities.count())
            .or_else(|| of_era.min_by_key(|entry| entry.profile.abilities.count()))
            .or(self.entries.first())
    }

    /// What clients of exactly this profile saw.
    pub fn exact(&self, profile: ClientProfile) -> Option<&ViewVariant> {
        self.entries.iter().find(|entry| entry.profile == profile)
    }

    /// Records what the main connection shows. If it is of another era than the server was asked for, the server refused
    /// that one; another version of the server may not.
    pub fn record_main(&mut self, seen: ViewVariant, asked: Option<Era>) {
        if !self.entries.iter().any(|entry| entry.info.version == seen.info.version) {
            self.absent.clear();
        }
        let refused = asked.filter(|asked| *asked != seen.profile.era);
        if seen.profile.abilities == Abilities::NONE {
            self.change_alike(&seen);
        }
        self.record(seen);
        self.last = LastKnown { seen: Some(now()), failure: None };
        self.absent.extend(refused.filter(|era| !self.absent.contains(era)));
    }

    /// Records that the server did not start.
    pub fn record_failure(&mut self, error: &str) {
        self.last.failure = Some(StartFailure { at: now(), error: error.chars().take(MAX_ERROR).collect() });
    }

    /// Clients that can be asked more and saw the same as those that cannot see a change as well. Else a server whose lists
    /// change in time would seem to list by abilities.
    fn change_alike(&mut self, seen: &ViewVariant) {
        let Some(before) = self.exact(seen.profile).map(|before| Arc::clone(&before.lists)) else { return };
        let alike = |entry: &&mut ViewVariant| {
            entry.profile.era == seen.profile.era && entry.info.version == seen.info.version && entry.lists == before
        };
        for entry in self.entries.iter_mut().filter(alike) {
            entry.lists = Arc::clone(&seen.lists);
        }
    }

    fn record(&mut self, seen: ViewVariant) {
        self.absent.retain(|era| *era != seen.profile.era);
        self.entries.retain(|entry| entry.profile != seen.profile);
        self.entries.insert(0, seen);
        self.entries.truncate(MAX_ENTRIES);
        self.varies = self.entries.iter().any(|one| {
            let alike =
                |other: &&ViewVariant| other.profile.era == one.profile.era && other.info.version == one.info.version;
            self.entries.iter().filter(alike).any(|other| other.lists != one.lists)
        });
    }

    /// Drops what was seen longest ago until the rest has at most this size. Returns whether anything was dropped.
    fn shrink_to(&mut self, max_bytes: u64) -> bool {
        let mut total = 0u64;
        let fitting = self.entries.iter().take_while(|entry| {
            total = total.saturating_add(size_of_entry(entry));
            total <= max_bytes
        });
        let (fitting, before) = (fitting.count(), self.entries.len());
        self.entries.truncate(fitting);
        fitting < before
    }
}

/// The time in whole seconds, as it is in the file.
fn now() -> SystemTime {
    time_of(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs())
}

fn time_of(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.min(u64::from(u32::MAX)))
}

fn seconds_of(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The approximate size of an entry in the file.
fn size_of_entry(entry: &ViewVariant) -> u64 {
    let items = ItemKind::ALL.iter().flat_map(|kind| entry.lists.of(*kind));
    let lists: usize = items.map(|item| item.raw().get().len() + 1).sum();
    let info = serde_json::to_string(&CachedInfo::from(&*entry.info)).map_or(0, |text| text.len());
    (lists + info) as u64
}

#[derive(Serialize, Deserialize)]
struct CacheFile {
    varies: bool,
    absent: Vec<CachedEra>,
    entries: Vec<CacheEntry>,
    /// In seconds since 1970.
    #[serde(default)]
    seen: Option<u64>,
    #[serde(default)]
    failure: Option<CachedFailure>,
}

#[derive(Serialize, Deserialize)]
struct CachedFailure {
    at: u64,
    error: String,
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
    info: CachedInfo,
    tools: Vec<Raw>,
    resources: Vec<Raw>,
    resource_templates: Vec<Raw>,
    prompts: Vec<Raw>,
}

#[derive(Serialize, Deserialize)]
struct CachedInfo {
    name: String,
    version: String,
    title: String,
    instructions: String,
    protocol_version: String,
    capabilities: Value,
    implementation: Value,
}

impl Cache {
    pub fn at(folder: Option<PathBuf>) -> Self {
        Cache { folder, writing: Arc::default() }
    }

    /// What is known of a server, if there is a readable entry that is not larger than the config allows.
    pub fn load(&self, name: &str, server: &ServerConfig) -> Option<CachedServer> {
        let path = self.path(name, server)?;
        if std::fs::metadata(&path).ok()?.len() > max_file_bytes(server) {
            return None;
        }
        let text = std::fs::read_to_string(path).ok()?;
        let file: CacheFile = serde_json::from_str(&text).ok()?;
        Some(CachedServer {
            varies: file.varies,
            absent: file.absent.into_iter().map(Era::from).collect(),
            entries: file.entries.into_iter().map(ViewVariant::from).collect(),
            last: LastKnown {
                seen: file.seen.map(time_of),
                failure: file.failure.map(|failure| StartFailure { at: time_of(failure.at), error: failure.error }),
            },
        })
    }

    /// Records what clients of a profile see.
    pub fn save(&self, name: &str, server: &ServerConfig, seen: ViewVariant) -> io::Result<()> {
        self.change(name, server, |known| known.record(seen))
    }

    /// Makes a change without blocking the runtime. Completes when it is on disk; a failure is only logged.
    pub async fn write(
        &self,
        name: &Arc<str>,
        server: &ServerConfig,
        change: impl FnOnce(&Cache, &str, &ServerConfig) -> io::Result<()> + Send + 'static,
    ) {
        let (cache, name, server) = (self.clone(), Arc::clone(name), server.clone());
        let saving = tokio::task::spawn_blocking(move || {
            if let Err(error) = change(&cache, &name, &server) {
                tracing::debug!(server = %name, %error, "cannot save the lists to the cache");
            }
        });
        let _ = saving.await;
    }

    /// Replaces the entry of a server atomically. Only the user can read it.
    pub fn change(&self, name: &str, server: &ServerConfig, change: impl FnOnce(&mut CachedServer)) -> io::Result<()> {
        let Some(path) = self.path(name, server) else { return Ok(()) };
        let _writing = self.writing.lock();
        let known = self.load(name, server).unwrap_or_default();
        let mut changed = known.clone();
        change(&mut changed);
        if changed.shrink_to(max_file_bytes(server) - MAX_FRAME) && changed.entries.is_empty() {
            tracing::warn!(
                server = %name,
                "its lists are not kept for the next start: together they are larger than {} bytes \
                 (`mcpServers.{name}.maxListBytes`)",
                server.max_list_bytes
            );
        }
        if changed == known {
            return Ok(());
        }
        let file = CacheFile {
            varies: changed.varies,
            absent: changed.absent.into_iter().map(CachedEra::from).collect(),
            entries: changed.entries.iter().map(CacheEntry::from).collect(),
            seen: changed.last.seen.map(seconds_of),
            failure: changed
                .last
                .failure
                .map(|failure| CachedFailure { at: seconds_of(failure.at), error: failure.error }),
        };
        atomic_file::replace(&path, serde_json::to_string(&file)?.as_bytes())
    }

    /// One file per name and command or URL: another command under the same name is another server.
    fn path(&self, name: &str, server: &ServerConfig) -> Option<PathBuf> {
        let identity = match &server.transport {
            TransportConfig::Stdio { command, args, cwd, .. } => format!("{command}\0{}\0{cwd:?}", args.join("\0")),
            TransportConfig::Http { url, .. } => url.clone(),
        };
        let digest = Sha256::digest(format!("{name}\0{identity}"));
        let short = crate::json::hex(&digest[..12]);
        Some(self.folder.as_ref()?.join(format!("{short}.json")))
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

impl From<&ServerInfo> for CachedInfo {
    fn from(info: &ServerInfo) -> Self {
        let ServerInfo { name, version, title, instructions, protocol_version, capabilities, implementation } =
            info.clone();
        CachedInfo { name, version, title, instructions, protocol_version, capabilities, implementation }
    }
}

impl From<&ViewVariant> for CacheEntry {
    fn from(seen: &ViewVariant) -> Self {
        let raws = |kind| seen.lists.of(kind).iter().map(|item| Raw::clone(item.shared_raw())).collect();
        CacheEntry {
            era: seen.profile.era.into(),
            abilities: seen.profile.abilities.to_capabilities(),
            info: CachedInfo::from(&*seen.info),
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
                let _ = accepted.add(item);
            }
            *lists.of_mut(kind) = accepted.items;
        }
        let CachedInfo { name, version, title, instructions, protocol_version, capabilities, implementation } =
            entry.info;
        ViewVariant {
            profile: ClientProfile { era: entry.era.into(), abilities: Abilities::read(&entry.abilities) },
            info: Arc::new(ServerInfo {
                name,
                version,
                title,
                instructions,
                protocol_version,
                capabilities,
                implementation,
            }),
            lists: Arc::new(lists),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(era: Era, abilities: Abilities) -> ViewVariant {
        ViewVariant { profile: ClientProfile { era, abilities }, info: Arc::default(), lists: Arc::default() }
    }

    #[test]
    fn a_client_is_shown_what_clients_like_it_saw() {
        let form = Abilities { form: true, ..Abilities::NONE };
        let both = Abilities { url: true, ..form };
        let mut known = CachedServer { absent: vec![Era::Stateless], ..CachedServer::default() };
        known.record(seen(Era::Session, Abilities::NONE));
        known.record(seen(Era::Session, form));
        let of =
            |known: &CachedServer, era, abilities| known.entry(ClientProfile { era, abilities }).map(|e| e.profile);
        let profile = |era, abilities| Some(ClientProfile { era, abilities });
        assert_eq!(of(&known, Era::Session, both), profile(Era::Session, form));
        assert_eq!(of(&known, Era::Session, Abilities::NONE), profile(Era::Session, Abilities::NONE));
        assert_eq!(of(&known, Era::Stateless, both), profile(Era::Session, form), "what was seen last");
        assert_eq!(known.absent, [Era::Stateless]);
        known.record(seen(Era::Stateless, Abilities::NONE));
        assert_eq!(of(&known, Era::Stateless, both), profile(Era::Stateless, Abilities::NONE));
        assert!(known.absent.is_empty());
    }

    #[test]
    fn lists_that_change_for_everybody_do_not_vary() {
        let with_tools = |abilities, names: &[&str]| {
            let tool = |name: &&str| {
                let text = format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#);
                Arc::new(Definition::parse(ItemKind::Tool, crate::json::valid(text).unwrap()).unwrap())
            };
            let lists = Lists { tools: names.iter().map(tool).collect(), ..Lists::default() };
            ViewVariant { lists: Arc::new(lists), ..seen(Era::Session, abilities) }
        };
        let form = Abilities { form: true, ..Abilities::NONE };
        let mut known = CachedServer::default();
        known.record_main(with_tools(Abilities::NONE, &["a"]), None);
        known.record(with_tools(form, &["a"]));
        known.record_main(with_tools(Abilities::NONE, &["a", "b"]), None);
        assert!(!known.varies, "the same change for both");
        known.record(with_tools(form, &["a", "b", "c"]));
        assert!(known.varies);
        known.record_main(with_tools(Abilities::NONE, &["a"]), None);
        assert!(known.varies, "they saw different lists before");
    }

    #[test]
    fn what_is_too_large_for_the_file_is_not_kept() {
        let of_size = |era, bytes: usize| {
            let text = format!(r#"{{"name":"a","description":"{}"}}"#, "x".repeat(bytes));
            let prompt = Definition::parse(ItemKind::Prompt, crate::json::valid(text).unwrap()).unwrap();
            let lists = Lists { prompts: vec![Arc::new(prompt)], ..Lists::default() };
            ViewVariant { lists: Arc::new(lists), ..seen(era, Abilities::NONE) }
        };
        let mut known = CachedServer::default();
        known.record(of_size(Era::Session, 4000));
        known.record(of_size(Era::Stateless, 4000));
        assert!(!known.clone().shrink_to(10_000), "there is room for both");
        assert!(known.shrink_to(6000));
        assert_eq!(known.entries.len(), 1);
        assert_eq!(known.entries[0].profile.era, Era::Stateless, "what was seen last");
        assert!(known.shrink_to(1000));
        assert!(known.entries.is_empty());
    }

    #[test]
    fn a_file_that_is_larger_than_the_config_allows_is_not_read() {
        let folder = std::env::temp_dir().join(format!("lists-{}", std::process::id()));
        let cache = Cache::at(Some(folder.clone()));
        let transport = TransportConfig::Http { url: "http://h/".to_owned(), headers: Default::default(), sse: false };
        let server = ServerConfig::new(transport);
        cache.save("a", &server, seen(Era::Session, Abilities::NONE)).unwrap();
        assert!(cache.load("a", &server).is_some());
        let path = cache.path("a", &server).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text + &" ".repeat(MAX_BESIDE_LIST as usize)).unwrap();
        assert!(cache.load("a", &server).is_some(), "white space is fine");
        assert!(cache.load("a", &ServerConfig { max_list_bytes: 1, ..server }).is_none());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
