//! Reload of the policy and entity files.

use std::sync::Arc;

use super::{Reloader, run_blocking};
use crate::gateway::installation::fixed_part;
use proxy_base::diagnostic::Diagnostic;
use proxy_base::watch::WatchedPaths;
use proxy_config::Config;
use proxy_identity::cedar::Policies;

/// Watches the files that the section `cedar` names, and the folders in which files may come to match its globs.
pub(super) fn watch(config: &Config, policies: Option<&Policies>, paths: &mut WatchedPaths) {
    let Some(cedar) = &config.cedar else { return };
    for named in cedar.policies.iter().chain(&cedar.entities) {
        match fixed_part(&named.path) {
            (folder, true) => paths.folder(&folder),
            (file, false) => paths.file(&file),
        }
    }
    for file in policies.iter().flat_map(|policies| policies.files()) {
        paths.file(file);
    }
}

impl Reloader {
    pub(super) async fn reload_policies(&mut self) {
        let (Some(cedar), current) = (self.config.cedar.clone(), self.gateway.installed.policies()) else { return };
        let (folder, known) = (self.config.folder.clone(), current.get());
        let read = run_blocking(move || {
            let is_new = known.is_none_or(|known| known.is_outdated(&cedar));
            if is_new { Policies::load(&cedar, &folder).map(Some) } else { Ok(None) }
        });
        match read.await {
            Some(Ok(Some(policies))) => {
                tracing::info!("reloaded the policies: {} in total", policies.len());
                self.gateway.reload_status.lock().policy_errors.clear();
                current.set(Some(Arc::new(policies)));
            }
            Some(Ok(None)) => self.gateway.reload_status.lock().policy_errors.clear(),
            Some(Err(problems)) => self.report_policies(problems),
            None => {}
        }
    }

    fn report_policies(&self, problems: Vec<Diagnostic>) {
        let mut status = self.gateway.reload_status.lock();
        if status.policy_errors != problems {
            let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
            tracing::error!("the policies were not reloaded, the old ones stay:\n{}", texts.join("\n"));
        }
        status.policy_errors = problems;
    }
}
