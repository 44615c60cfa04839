//! Local tools that were changed, added or taken away.

use std::path::Path;
use std::sync::Arc;

use super::{Reloader, aside, report};

impl Reloader {
    pub(super) async fn look_at_extensions(&mut self) {
        if !self.config.watch_extensions || self.config.extensions.is_empty() {
            return;
        }
        let installed = Arc::clone(&self.gateway);
        let config = self.config.clone();
        let looked = aside(move || {
            let installed = &installed.installed;
            let old = installed.local();
            (old, Arc::new(installed.look_at_local(&config)))
        });
        let Some((old, new)) = looked.await else { return };
        report::new_problems(&old, &new);
        let changed = new.changed_since(&old);
        let before = report::tools(&self.gateway);
        let generation = self.gateway.installed.apply_local(new);
        if !changed.is_empty() {
            let names: Vec<String> = changed.iter().map(|name| self.shown(Path::new(name))).collect();
            let reached = move |now: &super::super::Current| now.generation == generation;
            report::later(&self.gateway, names.join(", "), String::new(), before, reached);
        }
    }
}
