//! Another config.

use std::sync::Arc;

use super::super::prepare::Prepared;
use super::super::servers::Difference;
use super::{Reloader, aside, report};
use crate::config::Config;
use crate::diagnostic::Diagnostic;

impl Reloader {
    pub(super) async fn look_at_config(&mut self) {
        let Some(path) = self.config.path.clone() else { return };
        let text = std::fs::read_to_string(&path).ok();
        if text == self.seen {
            return;
        }
        self.seen = text;
        let (reread, gateway) = (Arc::clone(&self.reread), Arc::clone(&self.gateway));
        let read = aside(move || {
            let config = reread()?;
            let prepared = gateway.installed.prepare(&config)?;
            Ok((config, prepared))
        });
        match read.await {
            Some(Ok((config, prepared))) => match self.refusal(&config, &prepared).await {
                Some(problem) => self.refuse(vec![problem]),
                None => self.install(config, prepared),
            },
            Some(Err(problems)) => self.refuse(problems),
            None => {}
        }
    }

    /// Why the new config cannot take the place of the old one: it would let everybody in, or the script would not work
    /// with it, as far as that can be known before its servers are there.
    async fn refusal(&self, config: &Config, prepared: &Prepared) -> Option<Diagnostic> {
        if !self.config.tokens.is_empty() && config.tokens.is_empty() {
            return Some(
                Diagnostic::error("`auth.tokens` has nobody left, so over HTTP everybody would be let in")
                    .hint("keep a token, or start the proxy again to serve without any"),
            );
        }
        let now = self.gateway.snapshot();
        let foreseen = Arc::new(self.gateway.installed.foresee(config, prepared, &now));
        if !foreseen.is_settled() {
            return None;
        }
        let script_source = Arc::clone(&prepared.script_source);
        let built = aside(move || script_source.build(&foreseen).map(drop)).await?;
        built.err().map(|error| error.diagnostic().clone())
    }

    fn refuse(&self, problems: Vec<Diagnostic>) {
        let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
        tracing::error!("{} was not reloaded, the old config stays:\n{}", self.config_name(), texts.join("\n"));
        self.gateway.news.lock().config_errors = problems;
    }

    fn install(&mut self, config: Config, prepared: Prepared) {
        for key in self.config.fixed_differences(&config) {
            tracing::warn!("`{key}` was changed in {}: takes effect at the next start", self.config_name());
        }
        report::new_problems(&self.gateway.installed.local(), &prepared.local);
        let before = report::tools(&self.gateway);
        let (difference, edition) = self.gateway.installed.apply(&config, prepared);
        self.gateway.news.lock().config_errors.clear();
        self.config = config;
        let what = self.config_name();
        report::later(&self.gateway, what, told(&difference), before, move |now| now.edition == edition);
    }

    fn config_name(&self) -> String {
        self.config.path.as_ref().map_or_else(|| "the config".to_owned(), |path| path.display().to_string())
    }
}

/// What was done to the servers, behind the number of tools.
fn told(difference: &Difference) -> String {
    let parts = [("added", &difference.added), ("removed", &difference.removed), ("restarted", &difference.restarted)];
    let parts = parts.into_iter().filter(|(_, names)| !names.is_empty()).map(|(verb, names)| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        format!("; {verb}: {}", names.join(", "))
    });
    parts.collect()
}
