//! The lock beside a config: which servers it locks, and how.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::sections::lock::LockSettings;
use super::{Config, ServerConfig};
use proxy_base::diagnostic::Diagnostic;
use proxy_model::lock::{Lock, LockFile, LockMode, LockRules};

impl Config {
    /// The lock file of this config: `proxy.lock` for `proxy.yaml`. `None` if there is no config file.
    pub fn lock_path(&self) -> Option<PathBuf> {
        self.path.as_ref().map(|path| path.with_extension("lock"))
    }

    /// The settings of `lock` for a server.
    pub fn lock_settings(&self, server: &ServerConfig) -> LockSettings {
        server.lock.or(&self.lock)
    }

    /// Reads the lock. `None` if there is neither a file nor a setting that demands one.
    ///
    /// # Errors
    /// The file cannot be read, or is no lock of this version.
    pub fn read_lock(&self) -> Result<Option<Lock>, Box<Diagnostic>> {
        let Some(path) = self.lock_path() else { return Ok(None) };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => {
                return Err(Box::new(Diagnostic::error(format!("cannot read the lock `{}`: {error}", path.display()))));
            }
        };
        let file = text.map(|text| LockFile::parse(&path, &text)).transpose()?;
        Ok(self.lock_of(path, file.map(Arc::new)))
    }

    /// The lock with this file. `None` if no server is locked.
    pub fn lock_of(&self, path: PathBuf, file: Option<Arc<LockFile>>) -> Option<Lock> {
        let is_there = file.is_some();
        // What one person sees is nothing that an operator could approve for all.
        let enabled = self.servers.iter().filter(|(_, server)| !server.disabled && !server.is_per_person());
        let rules: HashMap<String, LockRules> = enabled
            .filter_map(|(name, server)| {
                let settings = self.lock_settings(server);
                let mode = settings.mode.or(is_there.then_some(LockMode::Freeze))?;
                let rules = LockRules {
                    mode,
                    ignore: settings.ignore.unwrap_or_default(),
                    resources: settings.resources.unwrap_or_default(),
                    identity: server.identity.clone(),
                };
                Some((name.clone(), rules))
            })
            .collect();
        (is_there || !rules.is_empty()).then(|| Lock {
            path,
            is_found: is_there,
            file: file.unwrap_or_default(),
            rules,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::loaded;

    fn identity(entry: &str) -> String {
        loaded(&format!("mcpServers: {{a: {entry}}}")).servers["a"].identity.clone()
    }

    #[test]
    fn another_program_is_another_server_and_another_secret_is_not() {
        let plain = identity("{command: npx, args: [-y, x]}");
        assert_eq!(plain, identity("{args: ['-y', \"x\"], command: \"npx\", env: {A: b}, timeout: 5s}"));
        for other in ["{command: npx, args: [-y, y]}", "{command: npx, args: [-y, x], cwd: sub}", "{url: 'http://h/'}"]
        {
            assert_ne!(plain, identity(other), "{other}");
        }
        let with = |token: &str| identity(&format!("{{command: npx, args: [--token, {token}]}}"));
        assert_eq!(with("abcdef"), with("ghijkl"), "a password must not be guessed from the digest");
        assert_eq!(identity("{url: 'http://h/?key=abc'}"), identity("{url: 'http://h/?key=xyz'}"));
        assert_ne!(identity("{command: '${TOKEN}'}"), identity("{command: s3cret-from-environment}"));
    }
}
