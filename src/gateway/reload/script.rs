//! Another session script, or another version of something it loads.

use std::path::Path;
use std::sync::Arc;

use super::super::script_source;
use super::{Reloader, aside, report};
use crate::diagnostic::Diagnostic;
use crate::surface::ScriptSource;

impl Reloader {
    pub(super) async fn look_at_script(&mut self) {
        let Some(newest) = self.gateway.installed.editions.borrow().script_source.clone() else { return };
        let config = self.config.clone();
        let read = aside(move || {
            let outdated = newest.source.outdated();
            if outdated.is_empty() {
                return Ok(None);
            }
            Ok(Some((
                outdated,
                ScriptSource { source: script_source::source(&config)?, ..ScriptSource::clone(&newest) },
            )))
        });
        match read.await {
            Some(Ok(Some((outdated, script_source)))) => {
                self.gateway.news.lock().unreadable = None;
                let before = report::tools(&self.gateway);
                let edition = self.gateway.installed.apply_script(script_source);
                let names: Vec<String> = outdated.iter().map(|path| self.shown(path)).collect();
                report::later(&self.gateway, names.join(", "), String::new(), before, move |now| {
                    now.edition == edition
                });
            }
            Some(Ok(None)) => self.gateway.news.lock().unreadable = None,
            Some(Err(problem)) => self.unreadable(problem),
            None => {}
        }
    }

    fn unreadable(&self, problem: Diagnostic) {
        let mut news = self.gateway.news.lock();
        if news.unreadable.as_ref().is_none_or(|known| known.message != problem.message) {
            tracing::error!("the session script was not reloaded, the old one stays:\n{problem}");
        }
        news.unreadable = Some(problem);
    }

    /// A path as a person would write it.
    pub(super) fn shown(&self, path: &Path) -> String {
        let folder = &self.config.folder;
        let real = Arc::new(folder.canonicalize().unwrap_or_else(|_| folder.clone()));
        let below = path.strip_prefix(folder).or_else(|_| path.strip_prefix(real.as_path()));
        below.unwrap_or(path).display().to_string()
    }
}
