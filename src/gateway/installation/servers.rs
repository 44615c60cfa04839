//! The running servers of a config. A reload restarts only the servers whose config entry has changed.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::backend::{self, Backend, Environment, Handle, RunningProcess, ServerLoad, StopOnDrop};
use crate::config::{Config, ServerConfig};
use crate::gateway::backend_set::BackendSet;

struct RunningServer {
    entry: ServerConfig,
    backend: Arc<StopOnDrop>,
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
                    let list = if other.is_some() { &mut changes.restarted } else { &mut changes.added };
                    list.push(name.clone());
                    let handle = backend::start(name, entry, environment);
                    backend_set.register(&handle);
                    RunningServer { entry: entry.clone(), backend: Arc::new(StopOnDrop::new(handle)) }
                }
            };
            self.0.insert(name.clone(), running);
        }
        changes.removed = old.into_keys().collect();
        changes
    }

    /// The number of reconnections of a server; `None` for an extension.
    pub(crate) fn load(&self, name: &str) -> Option<ServerLoad> {
        self.0.get(name).map(|running| running.backend.handle().load())
    }

    pub(crate) fn restarts(&self, name: &str) -> Option<u64> {
        self.0.get(name).map(|running| running.backend.handle().restarts())
    }

    /// A running server; `None` for an extension.
    pub(crate) fn handle(&self, name: &str) -> Option<Handle> {
        self.0.get(name).map(|running| running.backend.handle().clone())
    }

    /// Starts a server that rests.
    pub(crate) fn wake(&self, name: &str) {
        if let Some(running) = self.0.get(name) {
            running.backend.handle().wake();
        }
    }

    /// The running processes of a server; none for an extension or a server behind a URL.
    pub(crate) fn processes(&self, name: &str) -> Vec<RunningProcess> {
        self.0.get(name).map(|running| running.backend.handle().processes()).unwrap_or_default()
    }

    pub(crate) fn backends(&self) -> impl Iterator<Item = Arc<dyn Backend>> {
        self.0.values().map(|running| Arc::clone(&running.backend) as Arc<dyn Backend>)
    }
}
