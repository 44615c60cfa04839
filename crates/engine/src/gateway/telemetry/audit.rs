//! The audit log of a gateway.

use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};

use crate::gateway::Gateway;
use crate::surface::Surface;
use proxy_base::diagnostic::Diagnostic;
use proxy_builtins::redacted_json;
use proxy_config::Audit;
use proxy_model::ItemKind;
use proxy_telemetry::Telemetry;
use proxy_telemetry::audit::{AuditLog, PublishedSurface};

impl Gateway {
    /// Writes the calls of this gateway to an audit log from now on. `reopens_on_hangup` is for processes without a
    /// terminal: others end with it.
    ///
    /// # Errors
    /// The log is required and cannot be written.
    pub fn start_audit(&self, settings: &Audit, reopens_on_hangup: bool) -> Result<(), Diagnostic> {
        let log = AuditLog::start(settings, redacted_json).map_err(|error| {
            let path = settings.file.display();
            Diagnostic::error(format!("cannot write the audit log `{path}`: {error}"))
                .hint("make the file writable, or set `audit.required: false` to allow calls without an audit log")
        })?;
        if reopens_on_hangup {
            tokio::spawn(reopen_on_hangup(Arc::clone(&log)));
        }
        let telemetry = Arc::clone(self.calls().dispatcher.telemetry());
        telemetry.set_audit(log);
        // The first one may be there already.
        let shared = self.top().current.borrow().surface.clone();
        if let Some(surface) = shared.filter(|surface| surface.personal().is_none()) {
            audit_surface(&telemetry, &surface);
        }
        Ok(())
    }
}

/// Writes to the audit log what is published from now on, unless it was written before.
pub(in crate::gateway) fn audit_surface(telemetry: &Telemetry, surface: &Surface) {
    let Some(log) = telemetry.audit() else { return };
    log.published(PublishedSurface {
        policy: Arc::clone(surface.policy()),
        lists: surface.list_digests().text(),
        counts: ItemKind::ALL.map(|kind| (kind.list_member(), surface.entries(kind).count())),
    });
}

/// Opens the file again when logrotate, or whoever moves it, says so.
async fn reopen_on_hangup(log: Arc<AuditLog>) {
    let Ok(mut hangup) = signal(SignalKind::hangup()) else { return };
    while hangup.recv().await.is_some() {
        log.reopen();
    }
}
