//! Checks of published items. Each error has a hint that says how to fix it.

use std::sync::Arc;

use starlark::eval::Evaluator;
use starlark::values::{Value, ValueLike};

use crate::builtins::backends::BackendHandler;
use crate::builtins::metadata::Metadata;
use crate::builtins::metadata::kinds::{key_field, key_noun, lister, maker, noun, publisher};
use crate::builtins::metadata::names::{NameVerdict, check_name};
use crate::builtins::session::world::{Notes, PublishedAt};
use crate::diagnostic::Diagnostic;
use crate::json::Object;
use crate::model::{ItemKind, ToolChecks, ToolSchema};
use crate::script::{self, CallSite, ScriptError};

/// Returns the value as metadata of that kind.
pub(crate) fn metadata_of<'v>(kind: ItemKind, value: Value<'v>) -> Result<&'v Metadata, ScriptError> {
    let function = publisher(kind);
    let metadata = value.downcast_ref::<Metadata>().ok_or_else(|| {
        let actual = value.get_type();
        ScriptError::new(format!("the first argument of {function}() must be a metadata, not a `{actual}`"))
            .hint(format!("take it from `backend.{}()` or make one with `{}(...)`", lister(kind), maker(kind)))
    })?;
    if metadata.kind == kind {
        return Ok(metadata);
    }
    let (key, actual) = (metadata.definition.key(), noun(metadata.kind));
    Err(ScriptError::new(format!("{function}() publishes a {}; `{key}` is a {actual}", noun(kind)))
        .hint(format!("publish a {actual} with `{}(meta, handler)`", publisher(metadata.kind))))
}

/// Checks that the handler is a function of one argument and answers what clients ask of this kind of item.
pub(crate) fn check_handler(metadata: &Metadata, handler: Value<'_>) -> Result<(), ScriptError> {
    let key = metadata.definition.key();
    if handler.get_type() != "function" {
        return Err(ScriptError::new(format!("the handler of `{key}` is a `{}`, not a function", handler.get_type()))
            .hint("a handler takes one dict: `def handler(args): ...`"));
    }
    if handler.parameters_spec().is_some_and(|parameters| !parameters.can_fill_with_args(1, &[])) {
        let what = match metadata.kind {
            ItemKind::Tool => "the tool's arguments",
            ItemKind::Prompt => "the prompt's arguments",
            ItemKind::Resource => "with the `uri`",
            ItemKind::ResourceTemplate => "with the `uri` and the template's variables",
        };
        return Err(ScriptError::new(format!("the handler of `{key}` cannot be called with one argument"))
            .hint(format!("a handler takes one dict, {what}: `def handler(args): ...`")));
    }
    handler.downcast_ref::<BackendHandler>().map_or(Ok(()), |backend| check_target(metadata, backend))
}

/// Checks a backend's own handler. The proxy forwards calls to it without running it, so nothing could convert its result.
fn check_target(metadata: &Metadata, handler: &BackendHandler) -> Result<(), ScriptError> {
    let (target, key) = (&handler.target, metadata.definition.key());
    if metadata.timeout.is_some() {
        return Err(ScriptError::new(format!(
            "the `timeout` of `{key}` is for a function of the script, and its handler is a server's own"
        ))
        .hint("wrap the handler: `lambda args: call(args, timeout = 10)`"));
    }
    if target.kind != metadata.kind {
        let (actual, expected) = (noun(target.kind), noun(metadata.kind));
        return Err(ScriptError::new(format!("the handler of the {expected} `{key}` is that of a {actual}"))
            .hint(format!("wrap it in a function that returns what a {expected} returns")));
    }
    if target.kind == ItemKind::ResourceTemplate && target.name.as_ref() != key {
        return Err(ScriptError::new(format!("the server has no resource template `{key}`, only `{}`", target.name))
            .hint("wrap the handler in a function that calls it with the server's own `uri`"));
    }
    Ok(())
}

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

/// Checks that the schemas of a tool which the script wrote or changed are valid.
pub(crate) fn check_validity(metadata: &Metadata, checks: &ToolChecks) -> Result<(), ScriptError> {
    let Some((schema, fault)) = checks.fault_of_script() else { return Ok(()) };
    let field = match schema {
        ToolSchema::Input => "parameters",
        ToolSchema::Output => "output_schema",
    };
    let (key, problem) = (metadata.definition.key(), fault.problem());
    Err(ScriptError::new(format!("the `{field}` of `{key}` {problem}"))
        .hint("correct the schema: neither arguments nor results can be checked against an invalid one"))
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
            let quoted = crate::json::quote(key);
            return Err(ScriptError::new(format!("the {subject} {quoted} {why}")).hint(fix));
        }
        NameVerdict::Discouraged(_) if metadata.has_original_key() => {
            let backend = metadata.origin.as_ref().map(|origin| origin.backend.to_string()).unwrap_or_default();
            let mut warning = Diagnostic::warning(format!(
                "the {key_noun} `{key}` of a {noun} of server `{backend}` does not follow the MCP recommendations"
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
