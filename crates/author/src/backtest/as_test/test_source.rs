//! The script and the settings of a test.

use serde_json::{Map, Value};

use proxy_base::diagnostic::Diagnostic;
use proxy_builtins::redacted_json;
use proxy_engine::surface::ScriptSource;

/// The prefix and suffix of preset names in script paths.
const PRESET: (&str, &str) = ("@proxy//", ".star");

/// The arguments of `testing.session()` that say which script the test is about.
#[derive(Clone, Debug)]
pub(super) struct TestSource {
    /// The argument `script` or `preset`.
    pub(super) argument: &'static str,
    pub(super) value: String,
    /// The sections of the config that the script may read.
    pub(super) config: Map<String, Value>,
}

impl TestSource {
    /// # Errors
    /// If the script is in no file.
    pub(super) fn of(script: &ScriptSource, show_secrets: bool) -> Result<Self, Diagnostic> {
        let preset = script.source.name.strip_prefix(PRESET.0).and_then(|name| name.strip_suffix(PRESET.1));
        let (argument, value) = match (preset, &script.source.path) {
            (Some(preset), _) => ("preset", preset.to_owned()),
            (None, Some(path)) => match path.strip_prefix(&script.root) {
                Ok(below) => ("script", format!("//{}", below.display())),
                Err(_) => ("script", path.display().to_string()),
            },
            (None, None) => {
                return Err(Diagnostic::error("a test needs a script in a file, and the config has it inline")
                    .hint("move the script to a file, and name that with `sessionInit.scriptFile`"));
            }
        };
        let mut sections = Map::new();
        for (name, _) in &script.sections_set {
            let mut section = script.settings.sections.get(name).cloned().unwrap_or_default();
            remove_nulls(&mut section);
            if name != "params" {
                write_durations(&mut section);
            }
            sections.insert(name.clone(), section);
        }
        if !show_secrets
            && let Ok(hidden) = serde_json::from_str(&redacted_json(&Value::Object(sections.clone()).to_string()))
        {
            sections = hidden;
        }
        Ok(TestSource { argument, value, config: sections })
    }
}

/// The keys whose values are seconds for a script, and durations in a config.
const DURATIONS: [&str; 3] = ["refillPeriod", "timeout", "toolCallTimeout"];

fn write_durations(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member.as_f64().filter(|_| DURATIONS.contains(&name.as_str())) {
                    Some(seconds) => *member = format!("{:.0}ms", seconds * 1000.0).into(),
                    None => write_durations(member),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(write_durations),
        _ => {}
    }
}

/// An unset value is null for a script, and missing in a config.
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
