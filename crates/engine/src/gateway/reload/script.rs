//! Reload of the session script and of the files it loads.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Reloader, report, run_blocking};
use crate::gateway::installation;
use crate::surface::ScriptSource;
use proxy_base::diagnostic::Diagnostic;
use proxy_script::Source;

/// A script as its files are now. Adds the files that have changed to `outdated`.
fn current(
    newest: &Arc<ScriptSource>,
    outdated: &mut Vec<PathBuf>,
    read: impl FnOnce() -> Result<Source, Diagnostic>,
) -> Result<Arc<ScriptSource>, Diagnostic> {
    let changed = newest.source.outdated();
    if changed.is_empty() {
        return Ok(Arc::clone(newest));
    }
    // Several scripts may load the same file.
    let new: Vec<PathBuf> = changed.into_iter().filter(|path| !outdated.contains(path)).collect();
    outdated.extend(new);
    Ok(Arc::new(ScriptSource { source: read()?, ..ScriptSource::clone(newest) }))
}

impl Reloader {
    pub(super) async fn reload_script(&mut self) {
        let edition = self.gateway.installed.editions.borrow().clone();
        let Some(newest) = edition.script_source else { return };
        let config = self.config.clone();
        let profiles = edition.profiles;
        let read = run_blocking(move || {
            let mut outdated = Vec::new();
            let script_source = current(&newest, &mut outdated, || installation::source(&config))?;
            let mut of_profiles = HashMap::new();
            for (name, newest) in profiles.iter() {
                let Some(profile) = config.profiles.get(&**name) else { continue };
                let read = || installation::source(&config.of_profile(profile));
                of_profiles.insert(Arc::clone(name), current(newest, &mut outdated, read)?);
            }
            Ok((!outdated.is_empty()).then_some((outdated, script_source, of_profiles)))
        });
        match read.await {
            Some(Ok(Some((outdated, script_source, of_profiles)))) => {
                self.gateway.reload_status.lock().unreadable_script = None;
                let before = report::tools(&self.gateway);
                let edition = self.gateway.installed.apply_scripts(script_source, Arc::new(of_profiles));
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
