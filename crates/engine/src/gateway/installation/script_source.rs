//! The session script of a config: a preset, an inline script or a file, with its settings.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::surface::ScriptSource;
use proxy_base::diagnostic::Diagnostic;
use proxy_builtins::{Settings, presets};
use proxy_config::{Config, SessionScript, namings};
use proxy_model::Principal;
use proxy_script::Source;
use proxy_search::Embedder;

/// The session script with its settings. Fails if the preset is unknown or the file cannot be read.
pub fn script_source(config: &Config, embedder: Option<Arc<dyn Embedder>>) -> Result<ScriptSource, Diagnostic> {
    let mut optimizer = config.optimizer.to_json();
    // A script that publishes no more tools than every client takes need not look at the client.
    optimizer["smallestClientLimit"] = config.dialects.smallest_tool_limit().into();
    let mut rate_limiting = config.rate_limiting.to_json();
    let selection = config.selection.as_ref();
    if let Some(selection) = selection.filter(|selection| selection.has_own_limits) {
        // Limits of a profile have buckets of their own.
        rate_limiting["profile"] = (*selection.profile).into();
    }
    let sections: Map<String, Value> = [
        ("aggregation".to_owned(), config.aggregation.to_json()),
        ("optimizer".to_owned(), optimizer),
        ("codeMode".to_owned(), config.code_mode.to_json()),
        ("rateLimiting".to_owned(), rate_limiting),
        ("params".to_owned(), Value::Object(config.params.clone())),
    ]
    .into_iter()
    .collect();
    Ok(ScriptSource {
        source: source(config)?,
        namespace: namespace(config).into(),
        root: config.folder.clone(),
        settings: Arc::new(Settings {
            sections,
            embedder,
            sets_embedding: config.optimizer.embedding.is_some(),
            code_mode: config.code_mode.clone(),
            dialects: Arc::clone(&config.dialects),
            namings: namings(&config.servers),
            profile: selection.map(|selection| Arc::clone(&selection.profile)),
        }),
        first_users: first_users(config),
        lenient: config.script_for_once,
        only_tools: config.only_tools.clone().into(),
        flow: config.flow.clone().map(Arc::new),
        selection: config.selection.clone(),
        result_limits: config.results.seen_in_lists().into(),
        sections_set: config.set_sections.iter().map(|set| (set.name.to_string(), set.place.clone())).collect(),
    })
}

/// The maximum number of users for whom a failing script is tried.
const MAX_FIRST_USERS: usize = 16;

/// The users for whom the script is tried first: those with tokens, because nobody else is admitted.
fn first_users(config: &Config) -> Vec<Principal> {
    let mut users: Vec<Principal> = Vec::new();
    let profile = config.selection.as_ref().map(|selection| Arc::clone(&selection.profile));
    for user in config.auth.tokens.iter().map(|token| token.principal().in_profile(profile.clone())) {
        if users.len() < MAX_FIRST_USERS && !users.contains(&user) {
            users.push(user);
        }
    }
    if users.is_empty() { vec![Principal::anonymous().in_profile(profile)] } else { users }
}

/// The namespace of the script in the store. Proxies that share a store must agree on it, so it does not depend on
/// where their config files are.
fn namespace(config: &Config) -> String {
    match &config.session {
        SessionScript::Preset { name, .. } => format!("preset {}", name.split('@').next().unwrap_or_default()),
        SessionScript::Inline(_) => "script".to_owned(),
        SessionScript::File(path) => {
            format!("script {}", path.strip_prefix(&config.folder).unwrap_or(path).display())
        }
    }
}

/// The text of the session script.
pub(crate) fn source(config: &Config) -> Result<Source, Diagnostic> {
    match &config.session {
        SessionScript::Preset { name, place } => match presets::find(name) {
            Ok(preset) => Ok(preset.script()),
            Err(mut diagnostic) => {
                diagnostic.place = place.clone();
                Err(diagnostic)
            }
        },
        SessionScript::Inline(inline) => {
            let file = inline.place.file.clone();
            Ok(match inline.position {
                // Leading empty lines make the line numbers of the script those of the config file.
                Some(position) => {
                    let text = "\n".repeat(position.first_line.saturating_sub(1)) + &inline.text;
                    Source::new(file, text)
                }
                None => Source::new(format!("{file}#script"), inline.text.as_str()),
            })
        }
        SessionScript::File(path) => {
            let shown = path.strip_prefix(&config.folder).unwrap_or(path).display().to_string();
            let text = std::fs::read_to_string(path)
                .map_err(|error| Diagnostic::error(format!("cannot read the session script `{shown}`: {error}")))?;
            Ok(Source::at(shown, text, path))
        }
    }
}
