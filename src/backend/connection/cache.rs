//! The last known lists of every server, kept in the user's cache folder: names stay while a server is down, and
//! `check` can look without starting anything.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::listing::Taken;
use crate::config::{ServerConfig, TransportConfig};
use crate::json::Raw;
use crate::model::{Definition, ItemKind, Lists, ServerInfo};
use crate::process::atomic_file;

/// The folder. `None` keeps nothing.
#[derive(Clone, Debug, Default)]
pub struct Cache(Option<PathBuf>);

#[derive(Serialize, Deserialize)]
struct Entry {
    info: Info,
    tools: Vec<Raw>,
    resources: Vec<Raw>,
    resource_templates: Vec<Raw>,
    prompts: Vec<Raw>,
}

#[derive(Serialize, Deserialize)]
struct Info {
    name: String,
    version: String,
    title: String,
    instructions: String,
    protocol_version: String,
    capabilities: Value,
}

impl Cache {
    pub fn at(folder: Option<PathBuf>) -> Self {
        Cache(folder)
    }

    /// The last known state of a server, if there is one that can be read.
    pub fn load(&self, name: &str, server: &ServerConfig) -> Option<(ServerInfo, Lists)> {
        let text = std::fs::read_to_string(self.path(name, server)?).ok()?;
        let entry: Entry = serde_json::from_str(&text).ok()?;
        let mut lists = Lists::default();
        for (kind, items) in [
            (ItemKind::Tool, entry.tools),
            (ItemKind::Resource, entry.resources),
            (ItemKind::ResourceTemplate, entry.resource_templates),
            (ItemKind::Prompt, entry.prompts),
        ] {
            let mut taken = Taken::default();
            for item in items.into_iter().filter_map(|raw| Definition::parse(kind, raw).ok()) {
                // An older version may have kept what is no longer taken.
                let _ = taken.add(item);
            }
            *lists.of_mut(kind) = taken.items;
        }
        let Info { name, version, title, instructions, protocol_version, capabilities } = entry.info;
        Some((ServerInfo { name, version, title, instructions, protocol_version, capabilities }, lists))
    }

    /// Replaces what is known, in one step, readable by the user only.
    pub fn save(&self, name: &str, server: &ServerConfig, info: &ServerInfo, lists: &Lists) -> io::Result<()> {
        let Some(path) = self.path(name, server) else { return Ok(()) };
        let raws = |kind| lists.of(kind).iter().map(|item| item.raw().to_owned()).collect();
        let entry = Entry {
            info: Info {
                name: info.name.clone(),
                version: info.version.clone(),
                title: info.title.clone(),
                instructions: info.instructions.clone(),
                protocol_version: info.protocol_version.clone(),
                capabilities: info.capabilities.clone(),
            },
            tools: raws(ItemKind::Tool),
            resources: raws(ItemKind::Resource),
            resource_templates: raws(ItemKind::ResourceTemplate),
            prompts: raws(ItemKind::Prompt),
        };
        atomic_file::replace(&path, serde_json::to_string(&entry)?.as_bytes())
    }

    /// One file per server and way to reach it: another command under the same name is another server.
    fn path(&self, name: &str, server: &ServerConfig) -> Option<PathBuf> {
        let identity = match &server.transport {
            TransportConfig::Stdio { command, args, cwd, .. } => format!("{command}\0{}\0{cwd:?}", args.join("\0")),
            TransportConfig::Http { url, .. } => url.clone(),
        };
        let digest = Sha256::digest(format!("{name}\0{identity}"));
        let short: String = digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        Some(self.0.as_ref()?.join(format!("{short}.json")))
    }
}
