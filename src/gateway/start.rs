//! Starting and stopping the whole.

use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::rebuild::{self, Current};
use super::recipe::recipe;
use super::routes::{self, Routes};
use crate::backend::{self, Backend, Cache, Environment, Handle};
use crate::catalog::{self, Snapshot};
use crate::config::{Config, Transport};
use crate::diagnostic::Diagnostic;
use crate::embedding;
use crate::extension;
use crate::model::{Abilities, Status};
use crate::process::watchdog;
use crate::script::Pool;
use crate::search::Embedder;
use crate::session::{BuildError, Calls, Dispatcher, Surface};
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

/// A running proxy, without a client yet.
pub struct Gateway {
    handles: Vec<Handle>,
    pub(super) backends: Vec<Arc<dyn Backend>>,
    required: Vec<String>,
    calls: Calls,
    routes: Routes,
    pub(super) catalog: watch::Receiver<Arc<Snapshot>>,
    pub(super) current: watch::Receiver<Current>,
    stopping: CancellationToken,
    sole_client: Arc<ArcSwapOption<Abilities>>,
}

impl Gateway {
    /// Starts everything and returns at once. What is wrong with the config is told now, all of it.
    pub fn start(config: &Config, options: &Options) -> Result<Self, Vec<Diagnostic>> {
        let mut problems = Vec::new();
        let http = http::Pool::new().map_err(|error| problems.push(Diagnostic::error(error.to_string()))).ok();
        let embedder = http.as_ref().and_then(|http| embedder(config, options, http, &mut problems));
        let recipe = recipe(config, embedder).map_err(|problem| problems.push(problem)).ok();
        let pool = Pool::new(HANDLERS);
        let paths: Vec<PathBuf> = config.extensions.iter().map(|extension| extension.path.clone()).collect();
        let extensions = extension::discover(&paths, options.bundled, &pool)
            .map_err(|found| problems.extend(found))
            .unwrap_or_default();
        problems.extend(name_clashes(config, &extensions));
        problems.extend(routes::clashes(config));
        let (Some(recipe), Some(http), true) = (recipe, http, problems.is_empty()) else { return Err(problems) };

        let changes = Arc::new(Notify::new());
        let environment = Environment {
            pool: http,
            cache: Cache::at(options.cache_folder.clone()),
            executable: options.executable.clone(),
            variables: options.variables.clone(),
            changes: Arc::clone(&changes),
            sole_client: Arc::default(),
        };
        let handles = start_servers(config, &environment);
        let mut backends: Vec<Arc<dyn Backend>> = Vec::new();
        backends.extend(handles.iter().cloned().map(|handle| Arc::new(handle) as Arc<dyn Backend>));
        backends.extend(extensions.into_iter().map(|extension| Arc::new(extension) as Arc<dyn Backend>));
        let calls = Calls { dispatcher: Dispatcher::new(&backends), pool };
        let catalog = catalog::follow(backends.clone(), changes);
        let (sender, current) = watch::channel(Current::default());
        tokio::spawn(rebuild::keep(recipe, catalog.clone(), sender));
        let required = config.servers.iter().filter(|(_, server)| server.required && !server.disabled);
        Ok(Gateway {
            handles,
            backends,
            required: required.map(|(name, _)| name.clone()).collect(),
            calls,
            routes: Routes::new(config),
            catalog,
            current,
            stopping: CancellationToken::new(),
            sole_client: environment.sole_client,
        })
    }

    /// There is one client only, and it can do this: servers that start from now on are told so at once.
    pub fn sole_client(&self, abilities: Abilities) {
        self.sole_client.store(Some(Arc::new(abilities)));
    }

    pub fn calls(&self) -> &Calls {
        &self.calls
    }

    /// The server that a method beyond the protocol's own belongs to by the config.
    pub fn owner_of_method(&self, method: &str) -> Option<&Arc<str>> {
        self.routes.owner(method)
    }

    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.catalog.borrow())
    }

    /// The surface as it stands, and every later one.
    pub fn watch(&self) -> watch::Receiver<Current> {
        self.current.clone()
    }

    /// The surface, without waiting.
    pub fn surface_now(&self) -> Option<Arc<Surface>> {
        self.current.borrow().surface.clone()
    }

    /// The surface; the first request waits for the first run. An error means that the script never ran.
    pub async fn surface(&self) -> Result<Arc<Surface>, Arc<BuildError>> {
        if let Some(surface) = self.surface_now() {
            return Ok(surface);
        }
        let mut current = self.current.clone();
        let stopped = || Arc::new(Diagnostic::error("the proxy is shutting down").into());
        let current =
            current.wait_for(|now| now.surface.is_some() || now.error.is_some()).await.map_err(|_| stopped())?;
        match (&current.surface, &current.error) {
            (Some(surface), _) => Ok(Arc::clone(surface)),
            (None, Some(error)) => Err(Arc::clone(error)),
            (None, None) => Err(stopped()),
        }
    }

    /// Ends when every server is up or has failed to come up once; the version of that snapshot.
    pub async fn servers_settled(&self) -> u64 {
        let mut catalog = self.catalog.clone();
        let settled = catalog.wait_for(|snapshot| snapshot.backends.iter().all(|backend| tried(backend))).await;
        settled.map_or(0, |snapshot| snapshot.version)
    }

    /// The surface once every server has either come up or failed to; for commands that look once.
    pub async fn settled(&self) -> Result<Arc<Surface>, Arc<BuildError>> {
        let version = self.servers_settled().await;
        let mut current = self.current.clone();
        match current.wait_for(|now| now.snapshot >= version).await {
            Ok(now) => match (&now.error, &now.surface) {
                (Some(error), _) => Err(Arc::clone(error)),
                (None, Some(surface)) => Ok(Arc::clone(surface)),
                (None, None) => Err(Arc::new(Diagnostic::error("the session script did not run").into())),
            },
            Err(_) => self.surface().await,
        }
    }

    /// The surface as soon as it has this tool and the tool's server is up; at the latest when all is settled.
    pub async fn offering(&self, tool: Option<&str>) -> Result<Arc<Surface>, Arc<BuildError>> {
        let Some(tool) = tool else { return self.settled().await };
        let mut current = self.current.clone();
        let offered = async {
            let found =
                current.wait_for(|now| now.surface.as_ref().is_some_and(|surface| self.can_call(surface, tool)));
            found.await.ok().and_then(|now| now.surface.clone())
        };
        tokio::select! {
            Some(surface) = offered => Ok(surface),
            settled = self.settled() => settled,
        }
    }

    fn can_call(&self, surface: &Surface, tool: &str) -> bool {
        let Some(entry) = surface.tool(tool) else { return false };
        let snapshot = self.snapshot();
        entry.origin.as_ref().is_some_and(|origin| {
            snapshot.backend(&origin.backend).is_some_and(|backend| backend.status == Status::Ready)
        })
    }

    /// Ends with an error as soon as a server that must be there cannot be started; otherwise when all of them are up.
    pub async fn required_servers(&self) -> Result<(), Diagnostic> {
        let mut catalog = self.catalog.clone();
        let views = |snapshot: &Arc<Snapshot>| -> Vec<_> {
            self.required.iter().filter_map(|name| snapshot.backend(name).cloned()).collect()
        };
        let settled = catalog.wait_for(|snapshot| views(snapshot).iter().all(|backend| tried(backend))).await;
        let Ok(snapshot) = settled else { return Ok(()) };
        match views(&snapshot).into_iter().find(|backend| backend.status != Status::Ready) {
            None => Ok(()),
            Some(backend) => Err(Diagnostic::error(format!(
                "the server `{}` is required and cannot be used: {}",
                backend.name, backend.error
            ))),
        }
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
        futures::future::join_all(self.handles.iter().map(Handle::stop)).await;
        watchdog::end();
    }
}

/// Whether a backend is up, or at least one attempt has failed.
fn tried(backend: &crate::model::BackendView) -> bool {
    backend.status == Status::Ready || !backend.error.is_empty()
}

fn start_servers(config: &Config, environment: &Environment) -> Vec<Handle> {
    let active = || config.servers.iter().filter(|(_, server)| !server.disabled);
    if active().any(|(_, server)| matches!(server.transport, Transport::Stdio { .. }))
        && let Err(error) = watchdog::start(&environment.executable)
    {
        tracing::warn!(%error, "no watchdog: servers may stay if the proxy is killed");
    }
    active().map(|(name, server)| backend::start(name, server, environment)).collect()
}

pub(super) fn name_clashes(config: &Config, extensions: &[extension::ExtensionBackend]) -> Vec<Diagnostic> {
    extensions
        .iter()
        .map(|extension| extension.view().name.clone())
        .filter(|name| config.servers.contains_key(name.as_ref()))
        .map(|name| Diagnostic::error(format!("the extension `{name}` has the name of a server")))
        .collect()
}

/// Who makes vectors for searches, if the config names somebody.
fn embedder(
    config: &Config,
    options: &Options,
    http: &http::Pool,
    problems: &mut Vec<Diagnostic>,
) -> Option<Arc<dyn Embedder>> {
    let wanted = config.optimizer.embedding.as_ref()?;
    let key = options.variables.iter().find(|(name, _)| name == embedding::KEY_VARIABLE).map(|(_, key)| key.as_str());
    let folder = options.cache_folder.as_deref();
    let made = embedding::connect(wanted, key, folder, http, tokio::runtime::Handle::current());
    made.map_err(|error| problems.push(Diagnostic::error(format!("`optimizer.embedding` cannot be used: {error}"))))
        .ok()
}
