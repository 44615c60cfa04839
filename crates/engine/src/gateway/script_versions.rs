//! The versions of the session script: the one in use, and the one on disk.

use std::sync::Arc;

use super::Gateway;
use crate::surface::ScriptSource;
use proxy_base::diagnostic::Diagnostic;

/// The versions of the session script.
#[derive(Debug)]
pub struct ScriptVersions {
    /// The one that made what clients see; `None` before the first one has worked.
    pub in_use: Option<Arc<ScriptSource>>,
    /// The last one that was read.
    pub newest: Option<Arc<ScriptSource>>,
    /// Why the newest one is not in use.
    pub errors: Vec<Diagnostic>,
}

impl Gateway {
    pub fn script_versions(&self) -> ScriptVersions {
        let current = self.top().current.borrow().clone();
        let unreadable = self.reload_status.lock().unreadable_script.clone();
        let failed = current.error.iter().flat_map(|error| error.diagnostics()).cloned();
        ScriptVersions {
            in_use: current.script,
            newest: self.installed.editions.borrow().script_source.clone(),
            errors: unreadable.into_iter().chain(failed).collect(),
        }
    }
}
