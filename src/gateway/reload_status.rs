//! What became of the last changes, for whoever asks how the proxy is.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use crate::diagnostic::Diagnostic;

#[derive(Debug, Default)]
pub(super) struct News {
    /// When something was last taken up, and what.
    pub(super) reloaded: Option<(SystemTime, String)>,
    /// Why the config file as it is now is not the one in force.
    pub(super) config_errors: Vec<Diagnostic>,
    /// Why the session script as it is now could not even be read.
    pub(super) unreadable: Option<Diagnostic>,
}

#[derive(Debug, Default)]
pub(super) struct ReloadStatus(Mutex<News>);

impl ReloadStatus {
    pub(super) fn lock(&self) -> MutexGuard<'_, News> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
