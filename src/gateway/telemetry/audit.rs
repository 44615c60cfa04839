//! The audit log of a gateway.

use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};

use crate::builtins::redacted_json;
use crate::config::Audit;
use crate::diagnostic::Diagnostic;
use crate::gateway::Gateway;
use crate::telemetry::audit::AuditLog;

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
                .hint("make the file writable, or set `audit.required: false` to make calls without it")
        })?;
        if reopens_on_hangup {
            tokio::spawn(reopen_on_hangup(Arc::clone(&log)));
        }
        self.calls().dispatcher.telemetry().set_audit(log);
        Ok(())
    }
}

/// Opens the file again when logrotate, or whoever moves it, says so.
async fn reopen_on_hangup(log: Arc<AuditLog>) {
    let Ok(mut hangup) = signal(SignalKind::hangup()) else { return };
    while hangup.recv().await.is_some() {
        log.reopen();
    }
}
