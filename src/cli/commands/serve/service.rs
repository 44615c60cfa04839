//! `proxy serve` as a service of systemd: says when it is ready, that it is not stuck, and when it stops.

use std::io;
use std::sync::Arc;

use proxy_base::process::service_manager::ServiceManager;

use crate::admin::Health;

/// The service manager, if one has started the proxy and wants to know.
#[derive(Clone)]
pub(super) struct Service(Option<Arc<ServiceManager>>);

impl Service {
    pub(super) fn from_environment() -> Self {
        let manager = ServiceManager::from_environment().unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot use `NOTIFY_SOCKET`: the service manager will not know that the proxy is ready");
            None
        });
        Service(manager.map(Arc::new))
    }

    /// The start is over.
    pub(super) fn started(&self, health: &Health) {
        if health.is_ready() {
            self.tell(ServiceManager::ready);
        }
    }

    pub(super) fn stopping(&self) {
        self.tell(ServiceManager::stopping);
    }

    /// Says twice in each period of the watchdog that the main thread is not stuck.
    pub(super) async fn keep_alive(self) {
        let Some(period) = self.0.as_ref().and_then(|manager| manager.watchdog()) else { return };
        let mut ticks = tokio::time::interval(period / 2);
        loop {
            ticks.tick().await;
            self.tell(ServiceManager::alive);
        }
    }

    fn tell(&self, message: fn(&ServiceManager) -> io::Result<()>) {
        if let Some(Err(error)) = self.0.as_deref().map(message) {
            tracing::warn!(%error, "cannot tell the service manager about the proxy");
        }
    }
}
