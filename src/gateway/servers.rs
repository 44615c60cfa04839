//! The servers that run for a config. The next config leaves alone those whose own entry is the same.

use std::sync::Arc;

use indexmap::IndexMap;

use super::backend_set::BackendSet;
use crate::backend::{self, Backend, Environment, StopOnDrop};
use crate::config::{Config, ServerConfig, TransportConfig};
use crate::process::watchdog;

struct Running {
    entry: ServerConfig,
    backend: Arc<StopOnDrop>,
}

/// In the order of the config.
#[derive(Default)]
pub(super) struct Servers(IndexMap<String, Running>);

/// What a config did to the servers, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) added: Vec<String>,
    pub(super) removed: Vec<String>,
    pub(super) restarted: Vec<String>,
}

impl Difference {
    pub(super) fn is_any(&self) -> bool {
        *self != Difference::default()
    }
}

impl Servers {
    /// Whether this very entry runs already.
    pub(super) fn runs(&self, name: &str, entry: &ServerConfig) -> bool {
        self.0.get(name).is_some_and(|running| running.entry.is_same_as(entry))
    }

    /// Starts what is new or different. What is no longer asked for runs on as long as somebody else holds it.
    pub(super) fn apply(&mut self, config: &Config, environment: &Environment, backend_set: &BackendSet) -> Difference {
        let wanted = || config.servers.iter().filter(|(_, server)| !server.disabled);
        if wanted().any(|(_, server)| matches!(server.transport, TransportConfig::Stdio { .. }))
            && let Err(error) = watchdog::start(&environment.executable)
        {
            tracing::warn!(%error, "no watchdog: servers may stay if the proxy is killed");
        }
        let mut old = std::mem::take(&mut self.0);
        let mut difference = Difference::default();
        for (name, entry) in wanted() {
            let before = old.shift_remove(name);
            let running = match before {
                Some(running) if running.entry.is_same_as(entry) => running,
                other => {
                    let list = if other.is_some() { &mut difference.restarted } else { &mut difference.added };
                    list.push(name.clone());
                    let handle = backend::start(name, entry, environment);
                    backend_set.started(&handle);
                    Running { entry: entry.clone(), backend: Arc::new(StopOnDrop::new(handle)) }
                }
            };
            self.0.insert(name.clone(), running);
        }
        difference.removed = old.into_keys().collect();
        difference
    }

    /// How often a server was connected again; none of an extension.
    pub(super) fn restarts(&self, name: &str) -> Option<u64> {
        self.0.get(name).map(|running| running.backend.handle().restarts())
    }

    pub(super) fn backends(&self) -> impl Iterator<Item = Arc<dyn Backend>> {
        self.0.values().map(|running| Arc::clone(&running.backend) as Arc<dyn Backend>)
    }
}
