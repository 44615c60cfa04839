//! Reload of the lock file. Servers keep running; what is published of them changes.

use std::sync::Arc;

use super::{Reloader, run_blocking};
use proxy_base::diagnostic::Diagnostic;
use proxy_base::watch::WatchedPaths;
use proxy_config::Config;
use proxy_model::lock::{Lock, LockMode};

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
    let held = servers_that_would_be_held(now);
    let path = before.path.display();
    Some(if held.is_empty() {
        Diagnostic::error(format!("the lock `{path}` was deleted, which would approve everything"))
            .hint("restore it, or restart the proxy to serve without a lock")
    } else {
        let message =
            format!("the lock `{path}` was deleted: without it, nothing of {} would be published", held.join(", "));
        Diagnostic::error(message)
            .hint("restore it, or run `proxy lock` to approve what the servers list now; a restart does not serve without a lock")
    })
}

/// The servers that the config locks even without a file. Nothing of them is approved then.
fn servers_that_would_be_held(now: Option<&Lock>) -> Vec<String> {
    let rules = now.into_iter().flat_map(|lock| &lock.rules);
    let holds = rules.filter(|(_, rules)| rules.mode != LockMode::Warn);
    let mut names: Vec<String> = holds.map(|(name, _)| format!("`{name}`")).collect();
    names.sort();
    names
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn told(lock: &str) -> String {
        let text = format!("{lock}\nmcpServers: {{ci: {{command: x}}, docs: {{command: y, lock: warn}}}}\n");
        let (config, _) = proxy_config::load_text(Path::new("proxy.yaml"), &text, &|_| None).unwrap();
        let path = Path::new("proxy.lock").to_owned();
        let before = config.lock_of(path.clone(), Some(Arc::default())).unwrap();
        deleted(Some(&before), config.lock_of(path, None).as_ref()).unwrap().to_string()
    }

    #[test]
    fn what_the_deletion_of_the_lock_would_do_depends_on_the_mode() {
        for lock in ["", "lock: warn"] {
            assert!(told(lock).contains("was deleted, which would approve everything"), "{lock}");
        }
        for lock in ["lock: freeze", "lock: block"] {
            let told = told(lock);
            assert!(told.contains("nothing of `ci` would be published"), "{told}");
            assert!(!told.contains("docs"), "{told}");
        }
    }
}
