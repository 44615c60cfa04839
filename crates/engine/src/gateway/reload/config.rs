//! Reload of the config file.

use std::sync::Arc;

use super::lock::deleted;
use super::{Reloader, report, run_blocking};
use crate::gateway::installation::{Prepared, ServerChanges};
use proxy_base::diagnostic::Diagnostic;
use proxy_config::{Config, ConfigTexts};

/// The texts that make up the config, as they are now.
pub(super) fn texts(config: &Config) -> ConfigTexts {
    ConfigTexts::read(&config.files, &|name: &str| std::env::var(name).ok())
}

impl Reloader {
    pub(super) async fn reload_config(&mut self) {
        let config = self.config.clone();
        let Some(texts) = run_blocking(move || texts(&config)).await else { return };
        if texts == self.last_texts {
            return;
        }
        self.last_texts = texts;
        let (reread, gateway) = (Arc::clone(&self.reread), Arc::clone(&self.gateway));
        let read = run_blocking(move || {
            let config = reread()?;
            let prepared = gateway.installed.prepare(&config)?;
            Ok((config, prepared))
        });
        match read.await {
            Some(Ok((config, prepared))) => match self.objection(&config, &prepared).await {
                problems if problems.is_empty() => self.install(config, prepared),
                problems => self.reject(problems),
            },
            Some(Err(problems)) => self.reject(problems),
            None => {}
        }
    }

    /// Why the new config must not replace the old one: it would disable authentication, or the script fails on its
    /// catalog, as far as that is known before its new servers have started.
    async fn objection(&self, config: &Config, prepared: &Prepared) -> Vec<Diagnostic> {
        if !self.config.auth.is_empty() && config.auth.is_empty() {
            return vec![
                Diagnostic::error(
                    "`auth` no longer names any token or issuer, which would disable authentication over HTTP",
                )
                .hint("keep at least one of them, or restart the proxy to serve without authentication"),
            ];
        }
        if self.config.cedar.is_some() && config.cedar.is_none() {
            return vec![
                Diagnostic::error("`cedar` was removed, which would let everybody use everything")
                    .hint("keep the section, or restart the proxy to serve without policies"),
            ];
        }
        if self.config.flow.is_some() && config.flow.is_none() {
            return vec![
                Diagnostic::error("`flow` was removed, which would let every conversation send everything")
                    .hint("keep the section, or restart the proxy to serve without flow rules"),
            ];
        }
        let locked = self.gateway.installed.environment.lock.get();
        if let Some(problem) = deleted(locked.as_deref(), prepared.lock.as_deref()) {
            return vec![problem];
        }
        let now = self.gateway.snapshot();
        let preview = Arc::new(self.gateway.installed.preview(config, prepared, &now));
        if !preview.is_settled() {
            return Vec::new();
        }
        let mut scripts = vec![Arc::clone(&prepared.script_source)];
        scripts.extend(prepared.profiles.values().cloned());
        let built =
            run_blocking(move || scripts.iter().try_for_each(|script_source| script_source.build(&preview).map(drop)));
        built.await.and_then(Result::err).map(|error| error.diagnostics().cloned().collect()).unwrap_or_default()
    }

    fn reject(&self, problems: Vec<Diagnostic>) {
        let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
        tracing::error!("{} was not reloaded, the old config stays:\n{}", self.config_name(), texts.join("\n"));
        self.gateway.reload_status.lock().config_errors = problems;
    }

    fn install(&mut self, config: Config, prepared: Prepared) {
        let waiting = self.at_start.fixed_differences(&config);
        for key in self.config.fixed_differences(&config) {
            if waiting.contains(&key) {
                tracing::warn!("`{key}` was changed in {}: takes effect at the next start", self.config_name());
            } else {
                tracing::info!("`{key}` in {} is again as at the start", self.config_name());
            }
        }
        report::new_problems(&self.gateway.installed.local(), &prepared.local);
        let before = report::tools(&self.gateway);
        let (changes, edition) = self.gateway.installed.apply(&config, prepared);
        self.gateway.reload_status.lock().config_errors.clear();
        (self.on_install)(&config);
        self.config = config;
        let what = self.config_name();
        report::when_built(&self.gateway, what, describe(&changes), before, move |now| now.edition == edition);
    }

    fn config_name(&self) -> String {
        self.config.path.as_ref().map_or_else(|| "the config".to_owned(), |path| path.display().to_string())
    }
}

/// The end of the log line: the servers that were added, removed and restarted.
fn describe(changes: &ServerChanges) -> String {
    let parts = [("added", &changes.added), ("removed", &changes.removed), ("restarted", &changes.restarted)];
    let parts = parts.into_iter().filter(|(_, names)| !names.is_empty()).map(|(verb, names)| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        format!("; {verb}: {}", names.join(", "))
    });
    parts.collect()
}
