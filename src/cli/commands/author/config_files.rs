//! What of a config a child process may know: its files without secrets, and the last known lists of its servers.

use std::path::{Path, PathBuf};

use super::folder::PolicyFolder;
use crate::cli::logging;
use proxy_base::diagnostic::Diagnostic;
use proxy_config::{self as config, Config, ServerConfig, ShareableConfig};
use proxy_mcp_client::Cache;

/// A config that is read without its secrets, and with stand-ins for its variables.
#[derive(Debug)]
pub(super) struct ConfigFiles {
    shared: ShareableConfig,
    /// The same config, with its secrets.
    known: Config,
}

impl ConfigFiles {
    /// # Errors
    /// The errors of the config.
    pub(super) fn read(folder: &PolicyFolder) -> Result<Option<ConfigFiles>, Vec<Diagnostic>> {
        let Some(path) = folder.config.clone() else { return Ok(None) };
        let known = folder.load()?;
        let environment = |name: &str| std::env::var(name).ok();
        let shared = ShareableConfig::of(&[path], &environment, &logging::secret_values(&known))?;
        Ok(Some(ConfigFiles { shared, known }))
    }

    /// The values that stand for those of variables.
    pub(super) fn variables(&self) -> &[(String, String)] {
        &self.shared.variables
    }

    /// The texts of the config files below a folder, by their path there. Files of variables are empty.
    pub(super) fn texts(&self, root: &Path) -> Vec<(PathBuf, &str)> {
        let configs = self.shared.files.iter().map(|(path, text)| (path, text.as_str()));
        let empty = self.shared.env_files.iter().map(|path| (path, ""));
        let below = |(path, text): (&PathBuf, _)| Some((below(path, root)?, text));
        configs.chain(empty).filter_map(below).collect()
    }

    /// The lock, and the entities of policies: files that are neither scripts nor policies.
    pub(super) fn others(&self, root: &Path) -> Vec<PathBuf> {
        let entities = self.known.cedar.as_ref().and_then(|cedar| cedar.entities.as_ref());
        let entities = entities.map(|entities| entities.path.clone());
        let named = self.known.lock_path().into_iter().chain(entities);
        named.filter_map(|path| below(&path, root)).collect()
    }

    /// The files with the last known lists of servers: where they are, and where the config without secrets looks for them.
    ///
    /// # Errors
    /// The copy of the config in the folder `copy` cannot be read without its secrets.
    pub(super) fn lists(
        &self,
        cache: &Path,
        copy: &Path,
        config_name: &str,
        copied_cache: &Path,
    ) -> Result<Vec<(PathBuf, PathBuf)>, Vec<Diagnostic>> {
        let stand_in = |name: &str| {
            let known = self.shared.variables.iter().find(|(known, _)| known == name);
            known.map(|(_, value)| value.clone())
        };
        let (unknown, _) = config::load(&copy.join(config_name), &stand_in).map_err(|problems| {
            let note = "the secrets of the config were replaced before it was read: a value that is replaced must not be needed";
            problems.into_iter().map(|problem| problem.note(note)).collect::<Vec<_>>()
        })?;
        // The names of the files say where the servers were started: in the folder of the config, or in that of this process.
        let here = std::env::current_dir().ok();
        let folders = || std::iter::once(self.known.folder.clone()).chain(here.clone());
        let known_file = |name: &str, server: &ServerConfig| {
            let caches = folders().map(|folder| Cache::at(Some(cache.to_owned())).seen_from(folder));
            caches.filter_map(|cache| cache.file(name, server)).find(|file| file.is_file())
        };
        let copied_cache = Cache::at(Some(copied_cache.to_owned())).seen_from(copy.to_owned());
        let file = |(name, server): (&String, &ServerConfig)| {
            let other = unknown.servers.get(name)?;
            // A server that was never seen has none.
            Some((known_file(name, server)?, copied_cache.file(name, other)?))
        };
        Ok(self.known.servers.iter().filter_map(file).collect())
    }
}

/// The path of a file below a folder without links.
fn below(path: &Path, root: &Path) -> Option<PathBuf> {
    let folder = path.parent()?.canonicalize().ok()?;
    Some(folder.strip_prefix(root).ok()?.join(path.file_name()?))
}
