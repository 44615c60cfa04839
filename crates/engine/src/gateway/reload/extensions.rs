//! Reload of local tools after files were changed, added or deleted.

use std::path::Path;
use std::sync::Arc;

use super::{Reloader, report, run_blocking};
use crate::gateway::SharedSurface;

impl Reloader {
    pub(super) async fn reload_extensions(&mut self) {
        if !self.config.watch_extensions || self.config.extensions.is_empty() {
            return;
        }
        let gateway = Arc::clone(&self.gateway);
        let config = self.config.clone();
        let reloaded = run_blocking(move || {
            let old = gateway.installed.local();
            (old, Arc::new(gateway.installed.reload_local(&config)))
        });
        let Some((old, new)) = reloaded.await else { return };
        report::new_problems(&old, &new);
        let changed = new.changed_since(&old);
        let before = report::tools(&self.gateway);
        let generation = self.gateway.installed.apply_local(new);
        if !changed.is_empty() {
            let names: Vec<String> = changed.iter().map(|name| self.shown(Path::new(name))).collect();
            let reached = move |now: &SharedSurface| now.generation == generation;
            report::when_built(&self.gateway, names.join(", "), String::new(), before, reached);
        }
    }
}
