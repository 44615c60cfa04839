//! The workspace of the editor: its config, and the last known items of the config's servers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use proxy_config::{self as config, Config};
use proxy_engine::gateway::{GatewayOptions, Offline};
use proxy_model::{BackendView, Definition, ItemKind, Snapshot};

#[derive(Clone, Debug)]
pub struct Workspace {
    /// The config file of `--config`; without it the config is searched in the folder.
    pub config: Option<PathBuf>,
    pub folder: PathBuf,
    pub options: GatewayOptions,
}

/// The loaded workspace. A config that cannot be loaded is None here; `proxy check` reports its errors.
#[derive(Clone, Default)]
pub(super) struct WorkspaceState {
    pub config: Option<Arc<Config>>,
    pub snapshot: Option<Arc<Snapshot>>,
    /// Where the embedded libraries are written for editors that open them.
    pub library_folder: Option<PathBuf>,
}

/// A server or tool that a script can name in a string.
pub(super) struct KnownName {
    pub name: String,
    /// For a tool, the name of its server; None for a server.
    pub tool_of: Option<String>,
    pub description: String,
}

impl KnownName {
    /// `server`, or ``tool of `x` ``.
    pub(super) fn kind(&self) -> String {
        self.tool_of.as_ref().map_or_else(|| "server".to_owned(), |server| format!("tool of `{server}`"))
    }
}

impl Workspace {
    pub(super) fn load(&self) -> WorkspaceState {
        let library_folder = self.options.cache_folder.as_ref().map(|folder| folder.join("library"));
        let Some(config) = self.load_config() else {
            return WorkspaceState { library_folder, ..WorkspaceState::default() };
        };
        let offline = Offline::look(&config, &self.options).ok();
        WorkspaceState {
            config: Some(Arc::new(config)),
            snapshot: offline.map(|offline| offline.snapshot),
            library_folder,
        }
    }

    fn load_config(&self) -> Option<Config> {
        let path = config::find(self.config.as_deref(), &self.folder, None).ok()??;
        let environment = |name: &str| std::env::var(name).ok();
        config::load(&path, &environment).ok().map(|(config, _)| config)
    }
}

impl WorkspaceState {
    /// The folder that `//` paths of a file start at: the folder of the config, otherwise the folder of the file.
    pub(super) fn root<'a>(&'a self, file: Option<&'a Path>) -> Option<&'a Path> {
        self.config.as_ref().map(|config| config.folder.as_path()).or_else(|| file.and_then(Path::parent))
    }

    /// The items of one kind, of one server or of all, each with its server.
    pub(super) fn items(&self, kind: ItemKind, server: Option<&str>) -> Vec<(&Arc<BackendView>, &Arc<Definition>)> {
        let backends = self.snapshot.iter().flat_map(|snapshot| &snapshot.backends);
        let wanted = backends.filter(|backend| server.is_none_or(|server| *backend.name == *server));
        wanted.flat_map(|backend| backend.lists.of(kind).iter().map(move |item| (backend, item))).collect()
    }

    /// All servers, then all tools.
    pub(super) fn names(&self) -> Vec<KnownName> {
        let backends = || self.snapshot.iter().flat_map(|snapshot| &snapshot.backends);
        let servers = backends().map(|backend| {
            let tools = backend.lists.tools.len();
            let description = format!("{} server, {tools} tools ({})", backend.kind.as_str(), backend.status.as_str());
            KnownName { name: backend.name.to_string(), tool_of: None, description }
        });
        let tools = backends().flat_map(|backend| {
            backend.lists.tools.iter().map(|tool| KnownName {
                name: tool.key().to_owned(),
                tool_of: Some(backend.name.to_string()),
                description: tool.text("description"),
            })
        });
        servers.chain(tools).collect()
    }
}
