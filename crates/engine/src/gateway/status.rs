//! The status report of a running proxy, as `proxy status` shows it.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Gateway;
use super::options::Endpoint;
use proxy_base::diagnostic::Diagnostic;
use proxy_code_mode::sandbox::jail_state;
use proxy_config::CodeMode;
use proxy_model::{BackendView, ItemKind};
use proxy_telemetry::DurationSummary;

impl Gateway {
    /// Notes where clients reach the proxy, for the status. Only the first call has an effect.
    pub fn set_endpoint(&self, endpoint: Endpoint) {
        let _ = self.endpoint.set(endpoint);
    }

    /// The errors of the script for single users.
    pub fn user_errors(&self) -> Value {
        let errors = self.surfaces.errors();
        let shown =
            errors.iter().map(|(user, error)| json!({"user": user.as_ref(), "error": error.diagnostic().to_string()}));
        shown.collect()
    }

    /// The status without the connected clients, which the gateway does not know.
    pub fn status(&self) -> Value {
        let current = self.current.borrow().clone();
        let (listed, script) = {
            let count = |kind| current.surface.as_ref().map_or(0, |surface| surface.listed(kind));
            let edition = self.installed.editions.borrow();
            (
                ItemKind::ALL.map(count),
                edition.script_source.as_ref().map(|script_source| script_source.source.name.clone()),
            )
        };
        let [tools, resources, templates, prompts] = listed;
        let reload_status = self.reload_status.lock();
        let script_errors =
            reload_status.unreadable_script.iter().chain(current.error.iter().flat_map(|error| error.diagnostics()));
        json!({
            "version": proxy_base::VERSION,
            "pid": std::process::id(),
            "uptimeSeconds": self.started.elapsed().as_secs(),
            "config": self.config_path.as_ref().map(|path| path.display().to_string()),
            "folder": self.folder.display().to_string(),
            "transport": self.endpoint.get().map(|endpoint| endpoint.transport),
            "address": self.endpoint.get().and_then(|endpoint| endpoint.address.clone()),
            "source": self.source(),
            "script": script,
            "published": {
                "tools": tools, "resources": resources, "resourceTemplates": templates, "prompts": prompts,
            },
            "servers": self.snapshot().backends.iter().map(|backend| self.server_status(backend)).collect::<Vec<_>>(),
            "lastReload": reload_status.last_reload.as_ref().map(|(at, what)| json!({
                "at": jiff::Timestamp::try_from(*at).map(|at| at.to_string()).unwrap_or_default(),
                "secondsAgo": at.elapsed().map(|ago| ago.as_secs()).unwrap_or_default(),
                "what": what,
            })),
            "configErrors": texts(reload_status.config_errors.iter().chain(&reload_status.policy_errors)),
            "scriptErrors": texts(script_errors),
            "userErrors": self.user_errors(),
            "extensionErrors": texts(self.installed.local().problems()),
            "audit": self.calls().dispatcher.telemetry().audit().map(|audit| audit.report()),
            "jail": jail_state().map(|jail| json!({
                "seccomp": jail.seccomp, "landlock": jail.landlock, "missing": jail.missing(),
            })),
        })
    }

    /// What is in use: the config file and the digests of its text and of the session script. Null if it is more than a
    /// file: the command line may add to it.
    fn source(&self) -> Value {
        let path = self.config_path.as_ref().and_then(|path| std::fs::canonicalize(path).ok());
        let edition = self.installed.editions.borrow();
        let now = self.current.borrow();
        // While a new version is not in use, commands work it out themselves, and show its error.
        if now.error.is_some() || now.edition != edition.number || now.generation < edition.generation {
            return Value::Null;
        }
        let script = edition.script_source.as_ref().map(|script| script.digest());
        match (path, self.installed.config_digest(), script) {
            (Some(path), Some(digest), Some(script)) => {
                json!({"path": path.display().to_string(), "digest": digest, "script": script})
            }
            _ => Value::Null,
        }
    }

    /// The limits of code mode in the config that is in use.
    pub fn code_mode(&self) -> CodeMode {
        let edition = self.installed.editions.borrow();
        edition.script_source.as_ref().map(|script| script.settings.code_mode.clone()).unwrap_or_default()
    }

    /// The errors of the local tools as they are on disk.
    pub fn extension_problems(&self) -> Vec<Diagnostic> {
        self.installed.local().problems().cloned().collect()
    }

    fn server_status(&self, backend: &Arc<BackendView>) -> Value {
        let calls = self.calls();
        let stats = calls.dispatcher.telemetry().server(&backend.name);
        let mut status = backend.to_json();
        let load = self.installed.load(&backend.name).unwrap_or_default();
        (status["running"], status["waiting"]) = (load.running.into(), load.waiting.into());
        status["breakerOpen"] = load.breaker_open.into();
        status["restarts"] = self.installed.restarts(&backend.name).into();
        if let Some(everybodys) = self.installed.per_person(&backend.name) {
            status["people"] = everybodys.people().into();
        }
        let processes = self.installed.processes(&backend.name).into_iter();
        status["processes"] =
            processes.map(|process| json!({"pid": process.id, "uptimeSeconds": process.uptime.as_secs()})).collect();
        let (all, minute) = (stats.all(), stats.last_minute());
        status["calls"] = all.calls.into();
        status["failedCalls"] = all.failures.into();
        let durations = DurationSummary::of(stats.by_method().map(|(_, stats)| stats));
        status["errors"] = durations.errors.into();
        (status["p50Ms"], status["p95Ms"]) = (durations.p50_ms.into(), durations.p95_ms.into());
        status["lastMinute"] = json!({"calls": minute.calls, "failedCalls": minute.failures});
        status
    }
}

fn texts<'a>(diagnostics: impl Iterator<Item = &'a Diagnostic>) -> Vec<String> {
    diagnostics.map(ToString::to_string).collect()
}
