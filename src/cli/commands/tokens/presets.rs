//! What each preset would publish of the tools that the servers offer.

use std::sync::Arc;

use serde::Serialize;
use serde_json::json;

use crate::admin::SurfaceReport;
use crate::cli::failure::CommandFailure;
use proxy_builtins::presets::{PRESETS, Preset};
use proxy_config::{Config, SessionScript};
use proxy_engine::gateway::script_source;
use proxy_engine::surface::Surface;
use proxy_identity::cedar::Policies;
use proxy_model::{BackendKind, BackendView, ItemKind, Lists, Principal, ServerInfo, Snapshot, Status, SurfaceKey};
use proxy_search::estimate_tokens;

/// The tools that one preset publishes with this config, and their tokens.
#[derive(Debug, Serialize)]
pub(super) struct PresetTokens {
    pub(super) preset: String,
    pub(super) tools: usize,
    /// `None` if the preset cannot be used.
    pub(super) tokens: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

/// Runs every preset over what the servers offer, for this user.
pub(super) fn measure(
    config: &Config,
    report: &SurfaceReport,
    principal: &Principal,
) -> Result<Vec<PresetTokens>, CommandFailure> {
    let policies = config.cedar.as_ref().map(|cedar| Policies::load(cedar, &config.folder)).transpose();
    let policies = policies.map_err(CommandFailure::config)?.map(Arc::new);
    let snapshot = snapshot(report);
    let key = SurfaceKey::of(principal.clone(), Arc::default());
    let measured = PRESETS.iter().map(|preset| match surface(preset, config, &snapshot, &key) {
        Ok(surface) => {
            let surface = Arc::new(surface);
            let surface = match &policies {
                Some(policies) => Arc::new(surface.permitted_to(policies, &key)),
                None => surface,
            };
            let tokens = surface.tools().map(|tool| estimate_tokens(tool.definition.raw().get()));
            PresetTokens {
                preset: preset.full_name(),
                tools: surface.tools().count(),
                tokens: Some(tokens.sum()),
                error: None,
            }
        }
        Err(error) => PresetTokens { preset: preset.full_name(), tools: 0, tokens: None, error: Some(error) },
    });
    Ok(measured.collect())
}

fn surface(preset: &Preset, config: &Config, snapshot: &Arc<Snapshot>, key: &SurfaceKey) -> Result<Surface, String> {
    let mut config = config.clone();
    config.session = SessionScript::Preset { name: preset.full_name(), place: None };
    // A section that this preset does not read is no error: it is tried, not chosen.
    config.script_for_once = true;
    let script = script_source(&config, None).map_err(|problem| problem.message)?;
    script.build_for(snapshot, key.clone()).map_err(|error| error.diagnostic().message.clone())
}

/// The servers with what they offer, as if all of them were ready.
fn snapshot(report: &SurfaceReport) -> Arc<Snapshot> {
    let backends = report.servers.iter().map(|server| {
        let mut lists = Lists::default();
        for item in report.offered.iter().filter(|item| item.server == server.name) {
            lists.of_mut(item.kind).push(Arc::clone(&item.definition));
        }
        let capabilities = ItemKind::ALL.map(|kind| (kind.capability().to_owned(), json!({})));
        let info = ServerInfo {
            name: server.server_name.clone(),
            version: server.version.clone(),
            protocol_version: server.protocol_version.clone(),
            capabilities: capabilities.into_iter().collect(),
            ..ServerInfo::default()
        };
        Arc::new(BackendView {
            name: server.name.as_str().into(),
            kind: kind(&server.kind),
            status: Status::Ready,
            error: String::new(),
            info: Arc::new(info),
            lists: Arc::new(lists),
            start_time: None,
            reports: Arc::default(),
            variants: Arc::default(),
            last_known: None,
            is_doubtful: false,
            lock: None,
        })
    });
    Arc::new(Snapshot { version: 1, generation: 1, backends: backends.collect() })
}

fn kind(name: &str) -> BackendKind {
    let kinds = [BackendKind::Stdio, BackendKind::Http, BackendKind::Extension];
    kinds.into_iter().find(|kind| kind.as_str() == name).unwrap_or(BackendKind::Stdio)
}
