//! Starting and stopping the whole.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::apply::Installation;
use super::backend_set::BackendSet;
use super::catalog;
use super::local::LocalTools;
use super::prepare::Prepared;
use super::rebuild::{self, Current};
use super::reload_status::ReloadStatus;
use super::surfaces::Surfaces;
use crate::backend::{Cache, Environment};
use crate::calls::{Calls, Dispatcher, WaitingRoom};
use crate::config::{Config, Token};
use crate::diagnostic::Diagnostic;
use crate::fiber::Pool;
use crate::host_io::Reach;
use crate::model::Abilities;
use crate::model::Snapshot;
use crate::process::watchdog;
use crate::process::{below, is_served_by_ancestor};
use crate::wire::http;

/// Handlers that may run at once; others queue.
const HANDLERS: usize = 1024;

/// What the surroundings give.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the last known lists are kept.
    pub cache_folder: Option<PathBuf>,
    /// This program: what `command: proxy` means, and the watchdog.
    pub executable: PathBuf,
    pub variables: Vec<(String, String)>,
    /// Serve the extensions shipped in the binary too.
    pub bundled: bool,
}

impl Options {
    /// The way of local tools to the world.
    pub(super) fn reach(&self) -> Arc<Reach> {
        Arc::new(Reach::new(self.variables.clone(), Some(self.executable.clone())))
    }
}

/// A running proxy, without a client yet.
pub struct Gateway {
    pub(super) installed: Installation,
    /// The servers that must be there for the proxy to start.
    pub(super) required: Vec<String>,
    pub(super) catalog: watch::Receiver<Arc<Snapshot>>,
    pub(super) current: watch::Receiver<Current>,
    pub(super) surfaces: Arc<Surfaces>,
    pub(super) news: ReloadStatus,
    pub(super) config_path: Option<PathBuf>,
    pub(super) started: Instant,
    stopping: CancellationToken,
}

impl Gateway {
    /// Starts everything and returns at once. What is wrong with the config is told now, all of it; what is wrong with
    /// single extensions keeps nobody else out, see `extension_problems`.
    pub fn start(config: &Config, options: &Options) -> Result<Self, Vec<Diagnostic>> {
        if let Some(path) = config.path.as_deref().filter(|path| is_served_by_ancestor(&options.variables, path)) {
            return Err(vec![
                Diagnostic::error(format!(
                    "`{}` starts itself: a server in it is a proxy with this config",
                    path.display()
                ))
                .hint("give that server a config of its own: `args: [serve, --config, OTHER.yaml]`"),
            ]);
        }
        let http = http::Pool::new().map_err(|error| vec![Diagnostic::error(error.to_string())])?;
        let pool = Pool::new(HANDLERS);
        let reach = options.reach();
        let prepared = Prepared::of(config, options, &http, &pool, &reach, &LocalTools::default())?;
        let changes = Arc::new(Notify::new());
        let environment = Environment {
            pool: http,
            cache: Cache::at(options.cache_folder.clone()),
            executable: options.executable.clone(),
            variables: match &config.path {
                Some(path) => below(&options.variables, path),
                None => options.variables.clone(),
            },
            changes: Arc::clone(&changes),
            sole_client: Arc::default(),
        };
        let calls = Calls {
            dispatcher: Dispatcher::new(&[]),
            pool,
            store: prepared.store.clone(),
            waiting: WaitingRoom::default(),
            test_overrides: None,
        };
        let backend_set = BackendSet::new(calls, Arc::clone(&changes));
        let installed = Installation::new(options.clone(), environment, backend_set, reach);
        installed.apply(config, prepared);
        let catalog = catalog::follow(Arc::clone(installed.backend_set.members()), changes);
        let (sender, current) = watch::channel(Current::default());
        tokio::spawn(rebuild::keep(installed.editions.subscribe(), catalog.clone(), sender));
        tokio::spawn(part(Arc::clone(&installed.backend_set), current.clone()));
        let required = config.servers.iter().filter(|(_, server)| server.required && !server.disabled);
        let required = required.map(|(name, _)| name.clone()).collect();
        let surfaces = Surfaces::follow(current.clone());
        Ok(Gateway {
            installed,
            required,
            catalog,
            current,
            surfaces,
            news: ReloadStatus::default(),
            config_path: config.path.clone(),
            started: Instant::now(),
            stopping: CancellationToken::new(),
        })
    }

    /// There is one client only, and it can do this: servers that start from now on are told so at once.
    pub fn sole_client(&self, abilities: Abilities) {
        self.installed.environment.sole_client.store(Some(Arc::new(abilities)));
    }

    /// The way to the backends as they are now; whoever began with them keeps them to the end.
    pub fn calls(&self) -> Arc<Calls> {
        self.installed.backend_set.calls()
    }

    /// The server that a method beyond the protocol's own belongs to by the config.
    pub fn owner_of_method(&self, method: &str) -> Option<Arc<str>> {
        self.installed.routes.load().owner(method).cloned()
    }

    /// Who is let in by the config, now and later.
    pub fn tokens(&self) -> watch::Receiver<Vec<Token>> {
        self.installed.tokens.subscribe()
    }

    /// Ends when the proxy begins to shut down.
    pub async fn stopping(&self) {
        self.stopping.cancelled().await;
    }

    /// Says that the end is near: streams that would last for ever are finished properly.
    pub fn begin_stop(&self) {
        self.stopping.cancel();
    }

    /// Ends every server, all at once.
    pub async fn stop(&self) {
        self.begin_stop();
        self.installed.backend_set.stop().await;
        watchdog::end();
    }
}

/// Lets backends that were taken out go as soon as there is a surface without them.
async fn part(backend_set: Arc<BackendSet>, mut current: watch::Receiver<Current>) {
    while current.changed().await.is_ok() {
        let done = {
            let now = current.borrow_and_update();
            now.error.is_none() && now.generation == backend_set.generation()
        };
        if done {
            backend_set.part();
        }
    }
}
