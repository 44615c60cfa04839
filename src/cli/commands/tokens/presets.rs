//! What each preset would publish of the tools that the servers offer.

use std::sync::Arc;

use serde::Serialize;
use serde_json::json;

use crate::admin::SurfaceReport;
use crate::cli::failure::CommandFailure;
use proxy_builtins::presets::{PRESETS, Preset};
use proxy_config::{Config, SessionScript};
use proxy_dialects::{Dialect, Lowered};
use proxy_engine::gateway::script_source;
use proxy_engine::surface::{BuildError, ScriptSource, Surface};
use proxy_identity::cedar::Policies;
use proxy_model::{BackendKind, BackendView, ItemKind, Lists, Principal, ServerInfo, Snapshot, SurfaceKey};
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

/// A tool that is published to a client, and its tokens.
pub(super) struct PublishedTool {
    pub(super) name: String,
    /// Empty if a script made it.
    pub(super) server: String,
    pub(super) tokens: usize,
}

/// Runs session scripts over what the servers offer.
pub(super) struct Trial<'a> {
    config: &'a Config,
    pub(super) snapshot: Arc<Snapshot>,
    policies: Option<Arc<Policies>>,
    key: SurfaceKey,
    /// The row of the clients; `None` for clients that accept every tool.
    dialect: Option<Arc<Dialect>>,
}

impl<'a> Trial<'a> {
    pub(super) fn new(
        config: &'a Config,
        report: &SurfaceReport,
        principal: &Principal,
        dialect: Option<Arc<Dialect>>,
    ) -> Result<Self, CommandFailure> {
        let policies = config.cedar.as_ref().map(|cedar| Policies::load(cedar, &config.folder)).transpose();
        let policies = policies.map_err(CommandFailure::config)?.map(Arc::new);
        let row = dialect.as_ref().map(|dialect| Arc::clone(&dialect.row));
        let key = SurfaceKey { row, ..SurfaceKey::of(principal.clone(), Arc::default()) };
        Ok(Trial { config, snapshot: snapshot(report), policies, key, dialect })
    }

    /// What the script of this config publishes.
    pub(super) fn own_surface(&self) -> Result<Arc<Surface>, CommandFailure> {
        let script = script_source(self.config, None).map_err(|problem| CommandFailure::config(vec![problem]))?;
        self.surface(&script).map_err(|error| CommandFailure::from(&error))
    }

    /// What every preset would publish.
    pub(super) fn presets(&self) -> Vec<PresetTokens> {
        let measured = PRESETS.iter().map(|preset| match self.preset(preset) {
            Ok(surface) => {
                let published = self.published(&surface);
                let tokens = published.iter().map(|tool| tool.tokens).sum();
                PresetTokens { preset: preset.full_name(), tools: published.len(), tokens: Some(tokens), error: None }
            }
            Err(error) => PresetTokens { preset: preset.full_name(), tools: 0, tokens: None, error: Some(error) },
        });
        measured.collect()
    }

    fn preset(&self, preset: &Preset) -> Result<Arc<Surface>, String> {
        let mut config = self.config.clone();
        config.session = SessionScript::Preset { name: preset.full_name(), place: None };
        // A section that this preset does not read is no error: it is tried, not chosen.
        config.script_for_once = true;
        let script = script_source(&config, None).map_err(|problem| problem.message)?;
        self.surface(&script).map_err(|error| error.diagnostic().message.clone())
    }

    fn surface(&self, script: &ScriptSource) -> Result<Arc<Surface>, BuildError> {
        let surface = Arc::new(script.build_for(&self.snapshot, self.key.clone())?);
        Ok(match &self.policies {
            Some(policies) => Arc::new(surface.permitted_to(policies, &self.key)),
            None => surface,
        })
    }

    /// The tools as the clients get them.
    pub(super) fn published(&self, surface: &Surface) -> Vec<PublishedTool> {
        let dialect = self.dialect.as_deref();
        let listed =
            surface.tools().filter(|tool| dialect.is_none_or(|dialect| surface.left_out(dialect, tool).is_none()));
        let published = listed.map(|tool| {
            let lowered = dialect.and_then(|dialect| tool.lowered(surface.dialects(), dialect));
            let text = lowered.and_then(Lowered::text).unwrap_or_else(|| tool.definition.raw());
            PublishedTool {
                name: tool.definition.key().to_owned(),
                server: tool.source().map(|source| source.backend.to_string()).unwrap_or_default(),
                tokens: estimate_tokens(text.get()),
            }
        });
        published.collect()
    }
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
        Arc::new(BackendView::ready(&server.name, kind(&server.kind), info, lists))
    });
    Arc::new(Snapshot { version: 1, generation: 1, backends: backends.collect() })
}

fn kind(name: &str) -> BackendKind {
    BackendKind::ALL.into_iter().find(|kind| kind.as_str() == name).unwrap_or(BackendKind::Stdio)
}
