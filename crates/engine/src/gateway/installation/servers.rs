//! The running servers of a config. A reload restarts only the servers whose config entry has changed.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::gateway::backend_set::BackendSet;
use proxy_config::{Config, ServerConfig};
use proxy_mcp_client::{
    self as backend, Backend, Environment, Handle, PerPersonServer, Rest, RunningProcess, ServerLoad, StopOnDrop,
};

struct RunningServer {
    entry: ServerConfig,
    backend: RunningBackend,
    /// The reconnections of the servers that it has replaced under this name.
    earlier_restarts: u64,
}

impl RunningServer {
    /// `None` if everybody has their own connection.
    fn restarts(&self) -> Option<u64> {
        self.backend.handle().map(|handle| self.earlier_restarts + handle.restarts())
    }
}

enum RunningBackend {
    Shared(Arc<StopOnDrop>),
    /// Everybody has a connection of their own.
    PerPerson(Arc<PerPersonServer>),
}

impl RunningBackend {
    fn handle(&self) -> Option<&Handle> {
        match self {
            RunningBackend::Shared(server) => Some(server.handle()),
            RunningBackend::PerPerson(_) => None,
        }
    }

    fn backend(&self) -> Arc<dyn Backend> {
        match self {
            RunningBackend::Shared(server) => Arc::clone(server) as Arc<dyn Backend>,
            RunningBackend::PerPerson(server) => Arc::clone(server) as Arc<dyn Backend>,
        }
    }
}

/// The running servers by name, in config order.
#[derive(Default)]
pub(super) struct RunningServers(IndexMap<String, RunningServer>);

/// The names of the servers that a config has started, stopped or restarted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerChanges {
    pub(crate) added: Vec<String>,
    pub(crate) removed: Vec<String>,
    pub(crate) restarted: Vec<String>,
}

impl ServerChanges {
    pub(crate) fn is_any(&self) -> bool {
        *self != ServerChanges::default()
    }
}

impl RunningServers {
    /// Whether a server with exactly this config entry is running.
    pub(crate) fn runs(&self, name: &str, entry: &ServerConfig) -> bool {
        self.0.get(name).is_some_and(|running| running.entry.is_same_as(entry))
    }

    /// Starts new and changed servers, and drops its references to the others, which stop when their last user is done.
    pub(crate) fn apply(
        &mut self,
        config: &Config,
        environment: &Environment,
        backend_set: &BackendSet,
    ) -> ServerChanges {
        let enabled = || config.servers.iter().filter(|(_, server)| !server.disabled);
        let mut old = std::mem::take(&mut self.0);
        let mut changes = ServerChanges::default();
        for (name, entry) in enabled() {
            let before = old.shift_remove(name);
            let running = match before {
                Some(running) if running.entry.is_same_as(entry) => running,
                other => {
                    let earlier_restarts = other.as_ref().and_then(RunningServer::restarts).unwrap_or_default();
                    let list = if other.is_some() { &mut changes.restarted } else { &mut changes.added };
                    list.push(name.clone());
                    let backend = if entry.is_per_person() {
                        RunningBackend::PerPerson(PerPersonServer::start(name, entry, environment))
                    } else {
                        let handle = backend::start(name, entry, environment);
                        backend_set.register(&handle);
                        RunningBackend::Shared(Arc::new(StopOnDrop::new(handle)))
                    };
                    RunningServer { entry: entry.clone(), backend, earlier_restarts }
                }
            };
            self.0.insert(name.clone(), running);
        }
        changes.removed = old.into_keys().collect();
        changes
    }

    pub(crate) fn load(&self, name: &str) -> Option<ServerLoad> {
        self.0.get(name).map(|running| match &running.backend {
            RunningBackend::Shared(server) => server.handle().load(),
            RunningBackend::PerPerson(server) => server.load(),
        })
    }

    /// The number of reconnections of a server, also before its entry was changed; `None` for an extension, and if everybody
    /// has their own.
    pub(crate) fn restarts(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(RunningServer::restarts)
    }

    /// A running server; `None` for an extension, and if everybody has their own.
    pub(crate) fn handle(&self, name: &str) -> Option<Handle> {
        self.0.get(name).and_then(|running| running.backend.handle()).cloned()
    }

    /// Whether one of them has a connection for each client (`scope: session`).
    pub(crate) fn have_own_connections(&self) -> bool {
        self.0.values().any(|running| running.entry.session_scoped)
    }

    /// A running server that everybody has a connection of their own to.
    pub(crate) fn per_person(&self, name: &str) -> Option<Arc<PerPersonServer>> {
        match &self.0.get(name)?.backend {
            RunningBackend::Shared(_) => None,
            RunningBackend::PerPerson(server) => Some(Arc::clone(server)),
        }
    }

    /// The servers at which everybody has an account of their own.
    pub(crate) fn personal(&self) -> Vec<(String, ServerConfig)> {
        let personal = self.0.iter().filter(|(_, running)| running.entry.personal().is_some());
        personal.map(|(name, running)| (name.clone(), running.entry.clone())).collect()
    }

    /// Starts a server that rests.
    pub(crate) fn wake(&self, name: &str) {
        if let Some(handle) = self.handle(name) {
            handle.wake();
        }
    }

    /// The rest of a server; `None` if it does not rest.
    pub(crate) fn rest(&self, name: &str) -> Option<Rest> {
        self.handle(name).and_then(|handle| handle.rest())
    }

    /// Whether a server that rested is being started.
    pub(crate) fn is_waking(&self, name: &str) -> bool {
        self.handle(name).is_some_and(|handle| handle.is_waking())
    }

    /// The running processes of a server; none for an extension or a server behind a URL.
    pub(crate) fn processes(&self, name: &str) -> Vec<RunningProcess> {
        self.handle(name).map(|handle| handle.processes()).unwrap_or_default()
    }

    pub(crate) fn backends(&self) -> impl Iterator<Item = Arc<dyn Backend>> {
        self.0.values().map(|running| running.backend.backend())
    }
}
