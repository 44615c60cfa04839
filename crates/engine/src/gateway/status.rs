//! The status report of a running proxy, as `proxy status` shows it.

use std::sync::Arc;

use super::Gateway;
use super::options::Endpoint;
use super::surfaces::View;
use crate::surface::Surface;
use proxy_base::diagnostic::Diagnostic;
use proxy_code_mode::sandbox::jail_state;
use proxy_config::CodeMode;
use proxy_model::operator_api::{
    CallCounts, ItemCounts, JailStatus, LastReload, ProxyStatus, RestStatus, RowStatus, ServedSource, ServerProcess,
    ServerStatus, UserError,
};
use proxy_model::{BackendView, ItemKind, Status};
use proxy_script::LogLine;
use proxy_telemetry::DurationSummary;

impl Gateway {
    /// Notes where clients reach the proxy, for the status. Only the first call has an effect.
    pub fn set_endpoint(&self, endpoint: Endpoint) {
        let _ = self.endpoint.set(endpoint);
    }

    /// The errors of the script for single users.
    pub fn user_errors(&self) -> Vec<UserError> {
        user_errors(self.top())
    }

    /// The status without the connected clients, which the gateway does not know.
    pub fn status(&self) -> ProxyStatus {
        let current = self.top().current.borrow().clone();
        let script = self.installed.editions.borrow().script_source.as_ref().map(|script| script.source.name.clone());
        let reload_status = self.reload_status.lock();
        let script_errors =
            reload_status.unreadable_script.iter().chain(current.error.iter().flat_map(|error| error.diagnostics()));
        let endpoint = self.endpoint.get();
        ProxyStatus {
            version: proxy_base::VERSION.to_owned(),
            pid: std::process::id(),
            uptime_seconds: self.started.elapsed().as_secs(),
            config: self.config_path.as_ref().map(|path| path.display().to_string()),
            folder: self.folder.display().to_string(),
            transport: endpoint.map(|endpoint| endpoint.transport.to_string()),
            address: endpoint.and_then(|endpoint| endpoint.address.clone()),
            source: self.source(),
            script,
            published: current.surface.as_deref().map(published).unwrap_or_default(),
            profile: self.views.only_profile().map(ToString::to_string),
            profiles: self.profiles(),
            servers: self.snapshot().backends.iter().map(|backend| self.server_status(backend)).collect(),
            last_reload: reload_status.last_reload.as_ref().map(|(at, what)| LastReload {
                at: jiff::Timestamp::try_from(*at).map(|at| at.to_string()).unwrap_or_default(),
                seconds_ago: at.elapsed().map(|ago| ago.as_secs()).unwrap_or_default(),
                what: what.to_string(),
            }),
            config_errors: texts(
                reload_status.config_errors.iter().chain(&reload_status.policy_errors).chain(&reload_status.lock_error),
            ),
            script_errors: texts(script_errors),
            user_errors: self.user_errors(),
            extension_errors: texts(self.installed.local().problems()),
            audit: self.calls().dispatcher.telemetry().audit().map(|audit| audit.report()),
            rows: self.rows_in_use(),
            jail: jail_state().map(|jail| JailStatus {
                seccomp: jail.seccomp,
                landlock: jail.landlock,
                missing: jail.missing(),
            }),
            ..ProxyStatus::default()
        }
    }

    /// What clients of each row of limits get, as far as such a client was here.
    fn rows_in_use(&self) -> Vec<RowStatus> {
        let shared = self.top().current.borrow().surface.clone();
        let is_shared = |line: &LogLine| shared.as_ref().is_some_and(|shared| shared.log.contains(line));
        let mut rows: Vec<RowStatus> = self
            .lowered()
            .into_iter()
            .map(|count| RowStatus { row: count.row.to_string(), lowered: count.lowered, notes: Vec::new() })
            .collect();
        for (row, surface) in self.top().surfaces.of_rows() {
            let notes = surface.log.iter().filter(|line| !is_shared(line)).map(|line| line.message.clone()).collect();
            match rows.iter_mut().find(|known| *known.row == *row) {
                Some(known) => known.notes = notes,
                None => rows.push(RowStatus { row: row.to_string(), lowered: 0, notes }),
            }
        }
        rows
    }

    /// What is in use: the config file and the digests of its text and of the session script. `None` if it is more than a
    /// file: the command line may add to it.
    fn source(&self) -> Option<ServedSource> {
        let path = self.config_path.as_ref().and_then(|path| std::fs::canonicalize(path).ok())?;
        let edition = self.installed.editions.borrow();
        let now = self.top().current.borrow();
        // While a new version is not in use, commands work it out themselves, and show its error.
        if now.error.is_some() || now.edition != edition.number || now.generation < edition.generation {
            return None;
        }
        Some(ServedSource {
            path: path.display().to_string(),
            digest: self.installed.config_digest()?.to_string(),
            script: edition.script_source.as_ref()?.digest().to_string(),
        })
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

    fn server_status(&self, backend: &Arc<BackendView>) -> ServerStatus {
        let calls = self.calls();
        let stats = calls.dispatcher.telemetry().server(&backend.name);
        let load = self.installed.load(&backend.name).unwrap_or_default();
        let processes = self.installed.processes(&backend.name).into_iter();
        let processes =
            processes.map(|process| ServerProcess { pid: process.id, uptime_seconds: process.uptime.as_secs() });
        let rest = self.installed.rest(&backend.name).map(|rest| RestStatus {
            stopped_seconds_ago: rest.stopped_ago.map(|ago| ago.as_secs()),
            saved_bytes: rest.saved,
        });
        let view = backend.server_status();
        let is_waking = self.installed.is_waking(&backend.name);
        let status = if is_waking { Status::Starting.as_str().to_owned() } else { view.status };
        let (all, minute) = (stats.all(), stats.last_minute());
        let durations = DurationSummary::of(stats.by_method().map(|(_, stats)| stats));
        let of_people = self.installed.per_person(&backend.name);
        ServerStatus {
            status,
            rest,
            running: Some(load.running),
            waiting: Some(load.waiting),
            breaker_open: Some(load.breaker_open),
            restarts: Some(self.installed.restarts(&backend.name)),
            people: of_people.as_ref().map(|everybodys| everybodys.people()),
            people_to_log_in: of_people.as_ref().and_then(|everybodys| everybodys.people_to_log_in()),
            processes: Some(processes.collect()),
            calls: Some(all.calls),
            failed_calls: Some(all.failures),
            errors: Some(durations.errors),
            p50_ms: Some(durations.p50_ms),
            p95_ms: Some(durations.p95_ms),
            last_minute: Some(CallCounts { calls: minute.calls, failed_calls: minute.failures }),
            ..view
        }
    }
}

/// How many items of each kind a surface lists.
pub(super) fn published(surface: &Surface) -> ItemCounts {
    ItemCounts {
        tools: surface.listed(ItemKind::Tool),
        resources: surface.listed(ItemKind::Resource),
        resource_templates: surface.listed(ItemKind::ResourceTemplate),
        prompts: surface.listed(ItemKind::Prompt),
    }
}

/// The errors of the script of a view for single users.
pub(super) fn user_errors(view: &View) -> Vec<UserError> {
    let errors = view.surfaces.errors();
    let shown =
        errors.iter().map(|(user, error)| UserError { user: user.to_string(), error: error.diagnostic().to_string() });
    shown.collect()
}

pub(super) fn texts<'a>(diagnostics: impl Iterator<Item = &'a Diagnostic>) -> Vec<String> {
    diagnostics.map(ToString::to_string).collect()
}
