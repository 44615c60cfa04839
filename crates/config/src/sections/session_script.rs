//! `sessionInit`: the session script and its parameters.

use std::path::PathBuf;

use serde_json::{Map, Value};

use proxy_base::diagnostic::{Diagnostic, Location};

use crate::SetSection;
use crate::syntax::reader::{BlockPosition, ValueReader};

#[derive(Clone, Debug)]
pub enum SessionScript {
    /// A script shipped with the proxy: `default`, or `default@1` for a fixed version.
    Preset {
        name: String,
        place: Option<Location>,
    },
    /// Contained in the config file.
    Inline(InlineScript),
    File(PathBuf),
}

#[derive(Clone, Debug)]
pub struct InlineScript {
    /// As written, without substitution of `${...}`.
    pub text: String,
    /// The location of its key.
    pub place: Location,
    /// The position of its lines in the file. `None` for a quoted string, whose line breaks differ from those of the
    /// file.
    pub position: Option<BlockPosition>,
}

impl Default for SessionScript {
    fn default() -> Self {
        SessionScript::Preset { name: "default".to_owned(), place: None }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct SessionInit {
    pub script: SessionScript,
    pub params: Map<String, Value>,
    pub set_section: Option<SetSection>,
}

pub(crate) fn read_session_init(reader: &ValueReader) -> Option<SessionInit> {
    let mut fields = reader.fields()?;
    let [preset, script, script_file] = ["preset", "script", "scriptFile"].map(|key| fields.get(key));
    let params = fields.get("params");
    fields.finish();
    refuse_several([("preset", &preset), ("script", &script), ("scriptFile", &script_file)]);
    let set_section = params.as_ref().map(|params| SetSection { name: "params", place: params.place() });
    let params = params.and_then(|params| params.json_object()).unwrap_or_default();
    let preset = preset.map(|preset| Some(SessionScript::Preset { name: preset.word()?, place: Some(preset.place()) }));
    let script = script.map(|script| read_inline(&script));
    let file = script_file.map(|file| read_file(&file));
    let script = preset.or(script).or(file).unwrap_or_else(|| Some(SessionScript::default()))?;
    Some(SessionInit { script, params, set_section })
}

fn refuse_several(keys: [(&str, &Option<ValueReader>); 3]) {
    let set: Vec<_> = keys.iter().filter_map(|(name, reader)| reader.as_ref().map(|reader| (name, reader))).collect();
    let Some((last, others)) = set.split_last().filter(|(_, others)| !others.is_empty()) else { return };
    let others: Vec<String> = others.iter().map(|(name, _)| format!("`{name}`")).collect();
    let problem =
        last.1.problem(&format!("conflicts with {}: only one session script can be set", others.join(" and ")));
    let problem: Diagnostic = problem.at(last.1.place());
    last.1.report(problem.hint("keep one of `preset`, `script` and `scriptFile`"));
}

fn read_inline(reader: &ValueReader) -> Option<SessionScript> {
    let (text, position) = reader.verbatim()?;
    Some(SessionScript::Inline(InlineScript { text, place: reader.place(), position }))
}

fn read_file(reader: &ValueReader) -> Option<SessionScript> {
    let written = reader.word()?;
    let path = reader.folder().join(&written);
    if path.is_file() {
        return Some(SessionScript::File(path));
    }
    let problem = reader.problem(&format!("file `{written}` not found"));
    reader.report(problem.hint("the path is relative to the folder of the config file"));
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{errors, loaded};

    #[test]
    fn without_a_script_it_is_the_default_preset() {
        assert!(matches!(loaded("").session, SessionScript::Preset { name, place: None } if name == "default"));
        let config = loaded("sessionInit: {preset: default@1, params: {limit: 5, who: '${TOKEN}', deep: [{x: null}]}}");
        assert!(matches!(config.session, SessionScript::Preset { name, .. } if name == "default@1"));
        let expected = serde_json::json!({"limit": 5, "who": "s3cret-from-environment", "deep": [{"x": null}]});
        assert_eq!(Value::Object(config.params), expected);
        assert_eq!(config.set_sections[0].name, "params");
    }

    #[test]
    fn two_scripts_are_an_error_that_names_both() {
        let found = errors("sessionInit:\n  preset: default\n  script: x\n");
        assert_eq!(
            found,
            [
                "3:3 `sessionInit.script`: conflicts with `preset`: only one session script can be set (keep one of `preset`, `script` \
              and `scriptFile`)"
            ]
        );
    }

    #[test]
    fn a_script_in_the_file_is_kept_as_written_and_knows_its_lines() {
        let config = loaded("serve: {}\nsessionInit:\n  script: |\n\n    def f():\n        return '${x}'\n");
        let SessionScript::Inline(script) = config.session else { panic!("not inline") };
        assert_eq!(script.text, "\ndef f():\n    return '${x}'\n");
        assert_eq!(script.place.line(), 3);
        assert_eq!(script.position, Some(BlockPosition { first_line: 4, indent: 4 }));
    }

    #[test]
    fn a_script_file_that_is_missing_is_an_error_with_its_place() {
        let found = errors("sessionInit:\n  scriptFile: no/policy.star\n");
        assert!(found[0].starts_with("2:15 `sessionInit.scriptFile`: file `"), "{}", found[0]);
    }
}
