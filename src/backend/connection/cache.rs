//! The last known lists of every server, in the user's cache folder. They are published while a server is down, and
//! `check` uses them without starting any server.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::listing::UniqueItems;
use crate::config::{ServerConfig, TransportConfig};
use crate::json::Raw;
use crate::model::{Definition, ItemKind, Lists, ServerInfo};
use crate::process::atomic_file;

/// The cache folder. Without one nothing is cached.
#[derive(Clone, Debug, Default)]
pub struct Cache(Option<PathBuf>);

#[derive(Serialize, Deserialize)]
struct CacheEntry {
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
    #[serde(default)]
    implementation: Value,
}

impl Cache {
    pub fn at(folder: Option<PathBuf>) -> Self {
        Cache(folder)
    }

    /// The cached state of a server, if there is a readable entry.
    pub fn load(&self, name: &str, server: &ServerConfig) -> Option<(ServerInfo, Lists)> {
        let text = std::fs::read_to_string(self.path(name, server)?).ok()?;
        let entry: CacheEntry = serde_json::from_str(&text).ok()?;
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
        let info = entry.info;
        let info = ServerInfo {
            name: info.name,
            version: info.version,
            title: info.title,
            instructions: info.instructions,
            protocol_version: info.protocol_version,
            capabilities: info.capabilities,
            implementation: info.implementation,
        };
        Some((info, lists))
    }

    /// Replaces the entry of a server atomically. Only the user can read it.
    pub fn save(&self, name: &str, server: &ServerConfig, info: &ServerInfo, lists: &Lists) -> io::Result<()> {
        let Some(path) = self.path(name, server) else { return Ok(()) };
        let raws = |kind| lists.of(kind).iter().map(|item| item.raw().to_owned()).collect();
        let entry = CacheEntry {
            info: CachedInfo {
                name: info.name.clone(),
                version: info.version.clone(),
                title: info.title.clone(),
                instructions: info.instructions.clone(),
                protocol_version: info.protocol_version.clone(),
                capabilities: info.capabilities.clone(),
                implementation: info.implementation.clone(),
            },
            tools: raws(ItemKind::Tool),
            resources: raws(ItemKind::Resource),
            resource_templates: raws(ItemKind::ResourceTemplate),
            prompts: raws(ItemKind::Prompt),
        };
        atomic_file::replace(&path, serde_json::to_string(&entry)?.as_bytes())
    }

    /// One file per name and command or URL: another command under the same name is another server.
    fn path(&self, name: &str, server: &ServerConfig) -> Option<PathBuf> {
        let identity = match &server.transport {
            TransportConfig::Stdio { command, args, cwd, .. } => format!("{command}\0{}\0{cwd:?}", args.join("\0")),
            TransportConfig::Http { url, .. } => url.clone(),
        };
        let digest = Sha256::digest(format!("{name}\0{identity}"));
        let short = crate::json::hex(&digest[..12]);
        Some(self.0.as_ref()?.join(format!("{short}.json")))
    }
}
