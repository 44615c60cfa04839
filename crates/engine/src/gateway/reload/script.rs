//! Reload of the session script and of the files it loads.

use std::path::Path;
use std::sync::Arc;

use super::{Reloader, report, run_blocking};
use crate::gateway::installation;
use crate::surface::ScriptSource;
use proxy_base::diagnostic::Diagnostic;

impl Reloader {
    pub(super) async fn reload_script(&mut self) {
        let Some(newest) = self.gateway.installed.editions.borrow().script_source.clone() else { return };
        let config = self.config.clone();
        let read = run_blocking(move || {
            let outdated = newest.source.outdated();
            if outdated.is_empty() {
                return Ok(None);
            }
            let source = installation::source(&config)?;
            Ok(Some((outdated, ScriptSource { source, ..ScriptSource::clone(&newest) })))
        });
        match read.await {
            Some(Ok(Some((outdated, script_source)))) => {
                self.gateway.reload_status.lock().unreadable_script = None;
                let before = report::tools(&self.gateway);
                let edition = self.gateway.installed.apply_script(script_source);
                let names: Vec<String> = outdated.iter().map(|path| self.shown(path)).collect();
                report::when_built(&self.gateway, names.join(", "), String::new(), before, move |now| {
                    now.edition == edition
                });
            }
            Some(Ok(None)) => self.gateway.reload_status.lock().unreadable_script = None,
            Some(Err(problem)) => self.report_unreadable(problem),
            None => {}
        }
    }

    fn report_unreadable(&self, problem: Diagnostic) {
        let mut status = self.gateway.reload_status.lock();
        if status.unreadable_script.as_ref().is_none_or(|known| known.message != problem.message) {
            tracing::error!("the session script was not reloaded, the old one stays:\n{problem}");
        }
        status.unreadable_script = Some(problem);
    }

    /// A path relative to the folder of the config, for log lines.
    pub(super) fn shown(&self, path: &Path) -> String {
        let folder = &self.config.folder;
        let real = Arc::new(folder.canonicalize().unwrap_or_else(|_| folder.clone()));
        let below = path.strip_prefix(folder).or_else(|_| path.strip_prefix(real.as_path()));
        below.unwrap_or(path).display().to_string()
    }
}
