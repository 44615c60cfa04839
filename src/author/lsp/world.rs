//! What the open files are about: the config of the workspace, and what its servers last offered.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::{self, Config};
use crate::gateway::{Offline, Options};
use crate::model::Snapshot;

/// Where to look.
#[derive(Clone, Debug)]
pub struct Workspace {
    /// The config, if somebody named one; otherwise it is looked for in the workspace.
    pub config: Option<PathBuf>,
    pub folder: PathBuf,
    pub options: Options,
}

/// As it is at one moment. Nothing of it is an error here: `check` tells what is wrong with a config.
#[derive(Clone, Default)]
pub struct World {
    pub config: Option<Arc<Config>>,
    pub snapshot: Option<Arc<Snapshot>>,
}

impl Workspace {
    pub fn look(&self) -> World {
        let Some(config) = self.load() else { return World::default() };
        let offline = Offline::look(&config, &self.options).ok();
        World { config: Some(Arc::new(config)), snapshot: offline.map(|offline| offline.snapshot) }
    }

    fn load(&self) -> Option<Config> {
        let path = config::find(self.config.as_deref(), &self.folder, None).ok()??;
        let environment = |name: &str| std::env::var(name).ok();
        config::load(&path, &environment).ok().map(|(config, _)| config)
    }
}

impl World {
    /// The folder that `//` paths begin at.
    pub fn root<'a>(&'a self, file: Option<&'a Path>) -> Option<&'a Path> {
        self.config.as_ref().map(|config| config.folder.as_path()).or_else(|| file.and_then(Path::parent))
    }

    /// A name, what it is, and what it says of itself.
    pub fn names(&self) -> Vec<(String, String, String)> {
        let mut names = Vec::new();
        for backend in self.snapshot.iter().flat_map(|snapshot| &snapshot.backends) {
            let tools = backend.lists.tools.len();
            let about = format!("{} server, {tools} tools ({})", backend.kind.as_str(), backend.status.as_str());
            names.push((backend.name.to_string(), "server".to_owned(), about));
        }
        for backend in self.snapshot.iter().flat_map(|snapshot| &snapshot.backends) {
            for tool in &backend.lists.tools {
                let kind = format!("tool of `{}`", backend.name);
                names.push((tool.key().to_owned(), kind, tool.text("description")));
            }
        }
        names
    }
}
