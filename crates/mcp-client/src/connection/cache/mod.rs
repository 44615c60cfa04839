//! The server cache in the user's cache folder: for each server, the protocol eras it supports and its last known lists,
//! for each client profile that saw different lists. The proxy publishes the lists while a server is down, and `check` uses
//! them without starting any server.

mod cached_server;
mod file;
mod identity;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use sha2::{Digest, Sha256};

pub(crate) use cached_server::CachedServer;
use file::CacheFile;
use proxy_base::process::atomic_file;
use proxy_config::ServerConfig;
use proxy_model::lock::Lock;
use proxy_model::{ClientProfile, ViewVariant};

/// What the file of a server may have beside one list of the maximum size.
const MAX_BESIDE_LIST: u64 = 1 << 20;
/// What of it is kept for names and brackets.
const MAX_FRAME: u64 = 64 << 10;

/// The maximum size of a server's file.
fn max_file_bytes(server: &ServerConfig) -> u64 {
    server.max_list_bytes.saturating_add(MAX_BESIDE_LIST)
}

/// The cache folder. Without one nothing is cached.
#[derive(Clone, Debug, Default)]
pub struct Cache {
    folder: Option<PathBuf>,
    /// Where servers start whose entry has no `cwd`; `None` for the folder of this process.
    start_folder: Option<PathBuf>,
    /// Held while a file is changed, so that no change of this process is lost. Of two processes that change a file at once,
    /// the later one wins.
    writing: Arc<Mutex<()>>,
}

impl Cache {
    pub fn at(folder: Option<PathBuf>) -> Self {
        Cache { folder, ..Cache::default() }
    }

    /// The cache as a process in another folder has it, which starts its servers there.
    pub fn seen_from(self, folder: PathBuf) -> Self {
        Cache { start_folder: Some(folder), ..self }
    }

    /// What is known of a server, if there is a readable entry that is not larger than the config allows.
    pub fn load(&self, name: &str, server: &ServerConfig) -> Option<CachedServer> {
        let path = self.path(name, server)?;
        if std::fs::metadata(&path).ok()?.len() > max_file_bytes(server) {
            return None;
        }
        let text = std::fs::read_to_string(path).ok()?;
        let file: CacheFile = serde_json::from_str(&text).ok()?;
        Some(file.into())
    }

    /// Whether a server was last seen with other variables or headers than it has now.
    pub fn is_outdated(&self, name: &str, server: &ServerConfig) -> bool {
        let known = self.load(name, server).filter(|known| !known.entries.is_empty());
        known.is_some_and(|known| known.environment != server.environment_digest())
    }

    /// What is known of a server: what it listed last with these variables, or else what the lock approves, or else what it
    /// listed with others.
    pub(crate) fn known(&self, name: &str, server: &ServerConfig, lock: Option<&Lock>) -> CachedServer {
        self.load(name, server).unwrap_or_default().or_approved(name, server, lock).0
    }

    /// Whether the lists of a server are known, with the variables or headers that it has now.
    pub fn has_lists(&self, name: &str, server: &ServerConfig, lock: Option<&Lock>) -> bool {
        self.load(name, server).unwrap_or_default().or_approved(name, server, lock).1
    }

    /// The profiles of the clients that have seen the server.
    pub fn profiles(&self, name: &str, server: &ServerConfig) -> Vec<ClientProfile> {
        let known = self.load(name, server).unwrap_or_default();
        known.entries.iter().map(|seen| seen.profile).collect()
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

    /// Marks a server's cached lists as seen with another account, so that commands do not mistake them for its current
    /// lists.
    pub fn outdate(&self, name: &str, server: &ServerConfig) -> io::Result<()> {
        self.change_file(name, server, |known| {
            known.last.failure = None;
            known.environment = String::new();
        })
    }

    /// Replaces the entry of a server atomically. Only the user can read it.
    pub fn change(&self, name: &str, server: &ServerConfig, change: impl FnOnce(&mut CachedServer)) -> io::Result<()> {
        self.change_file(name, server, |known| {
            change(known);
            known.environment = server.environment_digest();
        })
    }

    fn change_file(&self, name: &str, server: &ServerConfig, change: impl FnOnce(&mut CachedServer)) -> io::Result<()> {
        let Some(path) = self.path(name, server) else { return Ok(()) };
        let _writing = self.writing.lock();
        let known = self.load(name, server).unwrap_or_default();
        let mut changed = known.clone();
        change(&mut changed);
        if changed.shrink_to(max_file_bytes(server) - MAX_FRAME) && changed.entries.is_empty() {
            tracing::warn!(
                server = %name,
                "its lists are not cached for the next start: together they exceed {} bytes \
                 (`mcpServers.{name}.maxListBytes`)",
                server.max_list_bytes
            );
        }
        if changed == known {
            return Ok(());
        }
        let file = CacheFile::from(changed);
        atomic_file::replace(&path, serde_json::to_string(&file)?.as_bytes())
    }

    /// The file of a server, whether it is there or not. `None` without a folder.
    pub fn file(&self, name: &str, server: &ServerConfig) -> Option<PathBuf> {
        self.path(name, server)
    }

    /// One file per name and command or URL: another command under the same name is another server.
    fn path(&self, name: &str, server: &ServerConfig) -> Option<PathBuf> {
        let base = self.start_folder.clone().or_else(|| std::env::current_dir().ok());
        let digest = Sha256::digest(format!("{name}\0{}", identity::of(server, base.as_deref())));
        let short = proxy_json::hex(&digest[..12]);
        Some(self.folder.as_ref()?.join(format!("{short}.json")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proxy_config::TransportConfig;
    use proxy_model::{Abilities, ClientProfile, Era};

    fn seen(era: Era, abilities: Abilities) -> ViewVariant {
        ViewVariant {
            profile: ClientProfile { era, abilities },
            info: Arc::default(),
            lists: Arc::default(),
            lock: None,
        }
    }

    #[test]
    fn lists_of_another_account_are_known_and_not_current() {
        let folder = std::env::temp_dir().join(format!("outdated-{}", std::process::id()));
        let cache = Cache::at(Some(folder.clone()));
        let transport = TransportConfig::Http { url: "http://h/".to_owned(), headers: Default::default(), sse: false };
        let server = ServerConfig::new(transport);
        cache.outdate("a", &server).unwrap();
        assert!(cache.load("a", &server).is_none(), "nothing is known");
        cache.save("a", &server, seen(Era::Session, Abilities::NONE)).unwrap();
        assert!(!cache.is_outdated("a", &server));
        cache.outdate("a", &server).unwrap();
        assert!(cache.is_outdated("a", &server));
        assert_eq!(cache.load("a", &server).unwrap().entries.len(), 1);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_server_with_a_file_of_its_folder_is_another_one_elsewhere() {
        let folder = std::env::temp_dir().join(format!("identity-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("server.py"), "").unwrap();
        let server = |argument: &str| {
            let args = vec![argument.to_owned()];
            let command = "python3".to_owned();
            ServerConfig::new(TransportConfig::Stdio { command, args, env: Default::default(), cwd: None })
        };
        let file = |from: &str, argument: &str| {
            let cache = Cache::at(Some("cache".into())).seen_from(from.into());
            cache.file("a", &server(argument)).unwrap()
        };
        let here = folder.to_str().unwrap();
        assert_ne!(file(here, "server.py"), file("/", "server.py"));
        assert_eq!(file(here, "other.py"), file("/", "other.py"));
        std::fs::remove_dir_all(folder).unwrap();
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
