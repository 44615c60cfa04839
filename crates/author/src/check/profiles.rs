//! What the session scripts of profiles publish, and their problems.

use std::sync::Arc;

use super::CheckReport;
use proxy_base::diagnostic::Diagnostic;
use proxy_config::Config;
use proxy_engine::gateway::script_source;
use proxy_model::{ItemKind, Principal, Snapshot, SurfaceKey};

impl CheckReport {
    /// Adds the problems of each profile that the top level does not have, and how much it publishes to the user.
    pub fn add_profiles(&mut self, config: &Config, snapshot: &Arc<Snapshot>, user: &Principal) {
        let known: Vec<&str> = snapshot.backends.iter().map(|backend| &*backend.name).collect();
        self.add(config.unmatched_in_profiles(&known));
        for (name, profile) in &config.profiles {
            let mut own = CheckReport::default();
            own.add_profile(name, &config.of_profile(profile), snapshot, user);
            let is_new = |problem: &Diagnostic| {
                let is_same = |known: &Diagnostic| known.message == problem.message && known.place == problem.place;
                !self.problems.iter().any(is_same)
            };
            let new: Vec<Diagnostic> = own.problems.into_iter().filter(is_new).collect();
            self.add(new.into_iter().map(|problem| problem.note(format!("in the profile `{name}`"))));
            self.profiles.extend(own.profiles);
        }
    }

    fn add_profile(&mut self, name: &str, config: &Config, snapshot: &Arc<Snapshot>, user: &Principal) {
        let script = match script_source(config, None) {
            Ok(script) => script,
            Err(problem) => return self.add([problem]),
        };
        let snapshot = script.shown(snapshot);
        self.add_patterns(&config.aggregation, &snapshot);
        let user = user.clone().in_profile(Some(name.into()));
        let surface = match script.build_for(&snapshot, SurfaceKey::of(user, Arc::default())) {
            Ok(surface) => Arc::new(surface),
            Err(error) => return self.add(error.diagnostics().cloned()),
        };
        self.add_only_definitions(&script.source, &surface);
        self.add_limits(&config.rate_limiting, &surface, &snapshot);
        self.add_warnings(&surface, &snapshot);
        self.profiles.push(CheckedProfile {
            name: name.to_owned(),
            servers: snapshot.backends.iter().map(|backend| backend.name.to_string()).collect(),
            tools: surface.listed(ItemKind::Tool),
        });
    }
}

/// A profile whose script runs.
#[derive(Debug)]
pub struct CheckedProfile {
    pub name: String,
    /// The servers and extensions that it shows.
    pub servers: Vec<String>,
    /// The number of tools that it publishes.
    pub tools: usize,
}
