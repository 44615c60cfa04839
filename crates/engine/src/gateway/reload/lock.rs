//! Reload of the lock file. Servers keep running; what is published of them changes.

use std::sync::Arc;

use super::{Reloader, run_blocking};
use proxy_base::diagnostic::Diagnostic;
use proxy_base::watch::WatchedPaths;
use proxy_config::Config;
use proxy_model::lock::Lock;

/// Watches the lock file, also where there is none yet.
pub(super) fn watch(config: &Config, paths: &mut WatchedPaths) {
    if let Some(path) = config.lock_path() {
        paths.file(&path);
    }
}

/// The error if a lock was deleted: whoever deletes it must not thereby approve everything.
pub(super) fn deleted(before: Option<&Lock>, now: Option<&Lock>) -> Option<Diagnostic> {
    let before = before.filter(|before| before.is_found)?;
    if now.is_some_and(|now| now.is_found) {
        return None;
    }
    let message = format!("the lock `{}` was deleted, which would approve everything", before.path.display());
    Some(Diagnostic::error(message).hint("restore it, or restart the proxy to serve without a lock"))
}

impl Reloader {
    pub(super) async fn reload_lock(&mut self) {
        if self.gateway.installed.options.ignores_lock {
            return;
        }
        let config = self.config.clone();
        let before = self.gateway.installed.environment.lock.get();
        let read = match run_blocking(move || config.read_lock()).await {
            Some(Ok(lock)) => match deleted(before.as_deref(), lock.as_ref()) {
                Some(problem) => Err(problem),
                None => Ok(lock),
            },
            Some(Err(problem)) => Err(*problem),
            None => return,
        };
        match read {
            Ok(lock) => {
                self.gateway.reload_status.lock().lock_error = None;
                if before.as_deref() != lock.as_ref() {
                    tracing::info!("reloaded the lock");
                    self.gateway.installed.set_lock(lock.map(Arc::new));
                }
            }
            Err(problem) => {
                let mut status = self.gateway.reload_status.lock();
                if status.lock_error.as_ref() != Some(&problem) {
                    tracing::error!("the lock was not reloaded, the former one stays in force:\n{problem}");
                }
                status.lock_error = Some(problem);
            }
        }
    }
}
