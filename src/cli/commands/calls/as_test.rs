//! `proxy calls --as-test`: prints a recorded call as a test function.

use std::path::Path;

use serde_json::{Map, Value};

use crate::author::backtest::{TestSource, as_test};
use crate::builtins::redacted_json;
use crate::cli::failure::CommandFailure;
use crate::cli::setup::{self, SourceArgs};
use crate::cli::{output, query};
use crate::config::{Config, SessionScript};
use crate::control::Instance;
use crate::diagnostic::Diagnostic;
use crate::gateway;
use crate::surface::ScriptSource;

pub(super) fn run(running: &Instance, id: &str, show_secrets: bool) -> Result<(), CommandFailure> {
    let recorded = query::single_recording(running, id, show_secrets)?;
    let config = config_of(running)?;
    let script = gateway::script_source(&config, None)?;
    let source = test_source(&config, &script, show_secrets)?;
    let text = setup::runtime()?.block_on(as_test(&recorded, &source, &script)).map_err(CommandFailure::failed)?;
    output::text(&text);
    if !show_secrets && !output::is_quiet() {
        output::err("personal data and secrets are hidden as far as they are recognized; `--show-secrets` shows them");
    }
    Ok(())
}

/// The config that the running proxy uses.
fn config_of(running: &Instance) -> Result<Config, CommandFailure> {
    let status = query::status(running)?;
    let folder = Path::new(status["folder"].as_str().unwrap_or_default());
    match status["config"].as_str().and_then(|config| Path::new(config).file_name()) {
        // The path may be relative to the folder in which the proxy was started.
        Some(name) => Ok(SourceArgs::of_file(&folder.join(name)).load()?.config),
        None => Ok(Config::default_for(folder)),
    }
}

fn test_source(config: &Config, script: &ScriptSource, show_secrets: bool) -> Result<TestSource, CommandFailure> {
    let (argument, value) = match &config.session {
        SessionScript::Preset { name, .. } => ("preset", name.clone()),
        SessionScript::File(path) => match path.strip_prefix(&config.folder) {
            Ok(below) => ("script", format!("//{}", below.display())),
            Err(_) => ("script", path.display().to_string()),
        },
        SessionScript::Inline(_) => {
            let problem = Diagnostic::error("a test needs a script in a file, and the config has it inline");
            let hint = "move the script to a file, and name that with `sessionInit.scriptFile`";
            return Err(CommandFailure::failed(problem.hint(hint)));
        }
    };
    let mut sections = Map::new();
    for (name, _) in &script.sections_set {
        let mut section = script.settings.sections.get(name).cloned().unwrap_or_default();
        remove_nulls(&mut section);
        sections.insert(name.clone(), section);
    }
    if !show_secrets
        && let Ok(hidden) = serde_json::from_str(&redacted_json(&Value::Object(sections.clone()).to_string()))
    {
        sections = hidden;
    }
    Ok(TestSource { argument, value, config: sections })
}

/// What is not set is null for a script, and missing in a config.
fn remove_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(remove_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_nulls),
        _ => {}
    }
}
