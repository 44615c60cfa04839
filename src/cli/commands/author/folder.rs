//! The folder that a model writes scripts for.

use std::path::{Path, PathBuf};

use crate::cli::setup;
use proxy_base::diagnostic::Diagnostic;
use proxy_config::{self as config, Config};

/// The names that a config has if nobody says otherwise, as everywhere in the proxy.
#[derive(Clone, Debug)]
pub(super) struct PolicyFolder {
    /// Without links.
    pub(super) root: PathBuf,
    /// The config file, if there is one.
    pub(super) config: Option<PathBuf>,
    /// The profile of the config that scripts are written for.
    pub(super) profile: Option<String>,
    /// The folder with the last known lists of servers.
    pub(super) cache: Option<PathBuf>,
}

impl PolicyFolder {
    pub(super) fn open(
        folder: &Path,
        named: Option<&Path>,
        profile: Option<&str>,
    ) -> Result<PolicyFolder, Vec<Diagnostic>> {
        let found = Self::found(folder, named).map_err(|problem| vec![problem])?;
        if let Some(profile) = profile {
            found.load()?.select_profile(profile).map_err(|problem| vec![problem])?;
        }
        Ok(PolicyFolder { profile: profile.map(str::to_owned), ..found })
    }

    fn found(folder: &Path, named: Option<&Path>) -> Result<PolicyFolder, Diagnostic> {
        let unreadable = |error| Diagnostic::error(format!("cannot open the folder `{}`: {error}", folder.display()));
        let root = folder.canonicalize().map_err(unreadable)?;
        if !root.is_dir() {
            return Err(Diagnostic::error(format!("`{}` is not a folder", folder.display())));
        }
        let named = named.map(|named| if named.is_absolute() { named.to_owned() } else { root.join(named) });
        let found = config::find(named.as_deref(), &root, None)?;
        let found = found.map(|path| path.canonicalize().unwrap_or(path));
        if let Some(outside) = found.as_ref().filter(|path| !path.starts_with(&root)) {
            let problem = format!("the config `{}` is not in the folder `{}`", outside.display(), root.display());
            return Err(Diagnostic::error(problem).hint("name the folder of the config: `proxy author FOLDER`"));
        }
        Ok(PolicyFolder { root, config: found, profile: None, cache: setup::cache_folder() })
    }

    /// The config file as commands in the folder name it.
    pub(super) fn config_name(&self) -> Option<String> {
        let below = self.config.as_ref()?.strip_prefix(&self.root).ok()?;
        Some(below.to_str()?.to_owned())
    }

    /// The config with its secrets; the default one if there is no file.
    pub(super) fn load(&self) -> Result<Config, Vec<Diagnostic>> {
        let environment = |name: &str| std::env::var(name).ok();
        match &self.config {
            Some(path) => config::load(path, &environment).map(|(config, _)| config),
            None => Ok(Config::default_for(&self.root)),
        }
    }
}
