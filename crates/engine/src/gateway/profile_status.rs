//! The profiles of a running proxy, as `proxy status` shows them.

use std::sync::Arc;

use super::Gateway;
use super::status::{published, texts, user_errors};
use crate::surface::ScriptSource;
use proxy_model::operator_api::ProfileStatus;

impl Gateway {
    /// The profiles that clients reach by their paths, without the sessions, which the gateway does not know. On stdio there
    /// are none: there the command line chooses.
    pub(super) fn profiles(&self) -> Vec<ProfileStatus> {
        let Some(path) = self.endpoint.get().and_then(|endpoint| endpoint.path()) else { return Vec::new() };
        let scripts = Arc::clone(&self.installed.editions.borrow().profiles);
        let mut profiles: Vec<ProfileStatus> =
            scripts.iter().map(|(name, script)| self.profile_status(path, name, script)).collect();
        profiles.sort_by(|one, other| one.name.cmp(&other.name));
        profiles
    }

    fn profile_status(&self, path: &str, name: &str, script: &ScriptSource) -> ProfileStatus {
        let status = ProfileStatus {
            name: name.to_owned(),
            path: format!("{}/{name}", path.trim_end_matches('/')),
            script: script.source.name.clone(),
            ..ProfileStatus::default()
        };
        // Asking for a view would begin to build it.
        let Some(view) = self.views.used(name) else { return status };
        let current = view.current.borrow().clone();
        ProfileStatus {
            published: current.surface.as_deref().map(published),
            script_errors: texts(current.error.iter().flat_map(|error| error.diagnostics())),
            user_errors: user_errors(&view),
            ..status
        }
    }
}
