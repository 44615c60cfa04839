//! Warnings about server schemas that are invalid or too large. Such a schema is forwarded unchanged, but the proxy cannot
//! validate arguments or results with it.
//!
//! To find them, all schemas are compiled, which can take longer than to build the surface. Clients do not wait for it.

use std::sync::{Arc, Weak};

use tokio::sync::Semaphore;

use super::logged_warnings;
use super::published_surface::Surface;
use proxy_base::diagnostic::Diagnostic;
use proxy_builtins::Handler;
use proxy_model::{ItemKind, ToolSchema};

impl Surface {
    /// A warning for each invalid schema of a server. Scripts cannot publish invalid schemas of their own. Blocks: do not
    /// call it on an async thread.
    pub fn schema_faults(&self) -> Vec<Diagnostic> {
        let mut warnings = Vec::new();
        for tool in self.entries(ItemKind::Tool) {
            let (Some(checks), Some(origin)) = (&tool.checks, &tool.origin) else { continue };
            for schema in [ToolSchema::Input, ToolSchema::Output] {
                let Some(fault) = checks.fault(schema) else { continue };
                let consequence = match (&tool.handler, schema) {
                    (Handler::Backend(_), _) => "it is forwarded unchanged",
                    (Handler::Script(_), ToolSchema::Input) => "arguments unchecked",
                    (Handler::Script(_), ToolSchema::Output) => "results unchecked",
                };
                let (member, name, server) = (schema.member(), tool.definition.key(), &origin.backend);
                let problem = fault.problem();
                let warning = Diagnostic::warning(format!(
                    "the `{member}` of the tool `{name}` of server `{server}` {problem}; {consequence}"
                ));
                warnings.push(match tool.handler {
                    Handler::Backend(_) => warning,
                    Handler::Script(_) => warning.hint("check them in the handler, or publish a schema of your own"),
                });
            }
        }
        warnings
    }

    /// Logs in the background which schemas of servers are invalid: one surface after the other, and none that has been
    /// dropped meanwhile.
    pub(crate) fn log_schema_faults(self: &Arc<Self>) {
        static TURN: Semaphore = Semaphore::const_new(1);
        let surface = Arc::downgrade(self);
        tokio::spawn(async move {
            let Ok(turn) = TURN.acquire().await else { return };
            let log = tokio::task::spawn_blocking(move || log_faults_of(&surface));
            // It fails only if it has panicked, which was reported.
            let _ = log.await;
            drop(turn);
        });
    }
}

fn log_faults_of(surface: &Weak<Surface>) {
    let faults = surface.upgrade().map(|surface| surface.schema_faults());
    for warning in faults.into_iter().flatten() {
        if logged_warnings::is_new(&warning.message) {
            tracing::warn!("{warning}");
        }
    }
}
