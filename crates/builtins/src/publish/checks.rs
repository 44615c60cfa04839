//! Checks of published items. Each error has a hint that says how to fix it.

use std::sync::Arc;

use starlark::eval::Evaluator;

use crate::kinds::{key_field, key_noun, noun};
use crate::metadata::Metadata;
use crate::metadata::names::{NameVerdict, check_name};
use crate::metadata::validity::check_validity;
use crate::session::world::{Notes, PublishedAt};
use proxy_base::diagnostic::Diagnostic;
use proxy_json::Object;
use proxy_model::ToolChecks;
use proxy_script::{self as script, CallSite, ScriptError};

/// Checks that a tool's parameters are an object schema, and that the schemas which the script wrote or changed are valid:
/// nothing could be checked by them otherwise. A schema that a backend sent may lack `type`, as some do.
pub(crate) fn check_schema(metadata: &Metadata, checks: &ToolChecks) -> Result<(), ScriptError> {
    let definition = &metadata.definition;
    let fault = |what: &str| {
        ScriptError::new(format!("the parameters of `{}` are not an object schema: {what}", definition.key()))
            .hint("a tool's schema has the form `{\"type\": \"object\", \"properties\": {...}}`")
    };
    let object = Object::of(definition.raw()).map_err(|error| fault(&error.to_string()))?;
    let schema = object.get("inputSchema").ok_or_else(|| fault("`parameters` is missing"))?;
    let members = Object::of(schema).map_err(|error| fault(&error.to_string()))?;
    match members.get("type").map(|kind| kind.get()) {
        Some("\"object\"") => {}
        _ if !checks.changes_input() => {}
        None => return Err(fault("`type` is missing")),
        Some(other) => return Err(fault(&format!("`type` is {other}"))),
    }
    check_validity(metadata, checks)
}

/// Checks the name or URI. One that the protocol does not recommend is an error if the script chose it, and a warning if a
/// backend did.
pub(crate) fn check_key(
    metadata: &Metadata,
    notes: &mut Notes,
    eval: &Evaluator<'_, '_, '_>,
) -> Result<(), ScriptError> {
    let (kind, key) = (metadata.kind, metadata.definition.key());
    let (noun, key_noun, field) = (noun(kind), key_noun(kind), key_field(kind));
    let subject = if key_noun == "name" { format!("{noun} name") } else { key_noun.to_owned() };
    let fix = format!("change it with `meta.replace({field} = ...)`");
    match check_name(kind, key) {
        NameVerdict::Good => {}
        NameVerdict::Invalid(why) => {
            let quoted = proxy_json::quote(key);
            return Err(ScriptError::new(format!("the {subject} {quoted} {why}")).hint(fix));
        }
        NameVerdict::Discouraged(_) if metadata.has_original_key() => {
            let backend = metadata.origin.as_ref().map(|origin| origin.backend.to_string()).unwrap_or_default();
            let mut warning = Diagnostic::warning(format!(
                "the {subject} `{key}` from server `{backend}` does not follow the MCP recommendations"
            ))
            .hint(format!("some clients reject it; {fix}"));
            warning.place = eval.call_stack_top_location().as_ref().map(script::place);
            notes.warnings.push(warning);
        }
        NameVerdict::Discouraged(why) => {
            return Err(ScriptError::new(format!("the {subject} `{key}` is not allowed: {why}")));
        }
    }
    Ok(())
}

/// Checks that the name or URI is not published yet, and records it.
pub(crate) fn check_unique(metadata: &Metadata, notes: &mut Notes, site: &CallSite) -> Result<(), ScriptError> {
    let (kind, key) = (metadata.kind, metadata.definition.key());
    if let Some(earlier) = notes.published.get(&(kind, key.to_owned())) {
        let (key_noun, place) = (key_noun(kind), earlier.place());
        let owner =
            |backend: Option<&Arc<str>>| backend.map(|name| format!(" (of server `{name}`)")).unwrap_or_default();
        let (this, other) =
            (owner(metadata.origin.as_ref().map(|origin| &origin.backend)), owner(earlier.backend.as_ref()));
        return Err(ScriptError::new(format!("the {key_noun} `{key}`{this} is already published, at {place}{other}"))
            .hint(format!("give one of them another {key_noun} with `meta.replace({} = ...)`", key_field(kind))));
    }
    let backend = metadata.origin.as_ref().map(|origin| origin.backend.clone());
    notes.published.insert((kind, key.to_owned()), PublishedAt { site: site.clone(), backend });
    Ok(())
}
