//! The outcome of the last reloads, for `proxy status`.

use std::time::SystemTime;

use parking_lot::{Mutex, MutexGuard};

use proxy_base::diagnostic::Diagnostic;

#[derive(Debug, Default)]
pub(super) struct ReloadStatus {
    /// Time and files of the last successful reload.
    pub(super) last_reload: Option<(SystemTime, String)>,
    /// Why the present config file was rejected; empty if it is in force.
    pub(super) config_errors: Vec<Diagnostic>,
    /// Why the present policy files were rejected; empty if they are in force.
    pub(super) policy_errors: Vec<Diagnostic>,
    /// Why the present lock file was rejected; `None` if it is in force.
    pub(super) lock_error: Option<Diagnostic>,
    /// Why the present session script could not be read.
    pub(super) unreadable_script: Option<Diagnostic>,
}

/// The reload status of a gateway, shared between the reloader and the status report.
#[derive(Debug, Default)]
pub(super) struct SharedReloadStatus(Mutex<ReloadStatus>);

impl SharedReloadStatus {
    pub(super) fn lock(&self) -> MutexGuard<'_, ReloadStatus> {
        self.0.lock()
    }
}
