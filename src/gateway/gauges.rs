//! What is measured of a running proxy at one moment, beside what is counted.

use std::sync::Arc;

use super::Gateway;
use crate::backend::ServerLoad;
use crate::model::{BackendKind, ItemKind, Status};

/// The state of a proxy in numbers.
#[derive(Debug)]
pub struct Gauges {
    pub servers: Vec<ServerGauges>,
    /// The number of published items by kind.
    pub published: [(ItemKind, usize); ItemKind::ALL.len()],
    /// Whether the files on disk could not be used, so that older ones are in force.
    pub reload_failed: bool,
}

/// The state of one server.
#[derive(Debug)]
pub struct ServerGauges {
    pub name: Arc<str>,
    pub is_up: bool,
    pub restarts: u64,
    pub load: ServerLoad,
}

impl Gateway {
    pub fn gauges(&self) -> Gauges {
        let current = self.current.borrow().clone();
        let listed = |kind| (kind, current.surface.as_ref().map_or(0, |surface| surface.listed(kind)));
        let reload_failed = {
            let status = self.reload_status.lock();
            !status.config_errors.is_empty() || status.unreadable_script.is_some() || current.error.is_some()
        };
        let snapshot = self.snapshot();
        let servers = snapshot.backends.iter().filter(|backend| backend.kind != BackendKind::Extension);
        Gauges {
            servers: servers
                .map(|backend| ServerGauges {
                    name: Arc::clone(&backend.name),
                    is_up: backend.status == Status::Ready,
                    restarts: self.installed.restarts(&backend.name).unwrap_or_default(),
                    load: self.installed.load(&backend.name).unwrap_or_default(),
                })
                .collect(),
            published: ItemKind::ALL.map(listed),
            reload_failed,
        }
    }
}
