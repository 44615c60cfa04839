//! What may be published: each check raises an error that says what to do.

use std::sync::Arc;

use starlark::values::{Value, ValueLike};

use crate::builtins::backends::BackendHandler;
use crate::builtins::metadata::Metadata;
use crate::builtins::metadata::kinds::{key_field, key_noun, lister, maker, noun, publisher};
use crate::builtins::metadata::names::{Verdict, judge};
use crate::builtins::session::world::{Earlier, Notes};
use crate::diagnostic::{Diagnostic, Place};
use crate::json::Object;
use crate::model::ItemKind;
use crate::script::ScriptError;

/// The metadata, if it is one of that kind.
pub(crate) fn metadata_of<'v>(kind: ItemKind, value: Value<'v>) -> Result<&'v Metadata, ScriptError> {
    let function = publisher(kind);
    let metadata = value.downcast_ref::<Metadata>().ok_or_else(|| {
        let given = value.get_type();
        ScriptError::new(format!("the first argument of {function}() must be a metadata, not a `{given}`"))
            .hint(format!("take it from `backend.{}()` or make one with `{}(...)`", lister(kind), maker(kind)))
    })?;
    if metadata.kind == kind {
        return Ok(metadata);
    }
    let (key, given) = (metadata.definition.key(), noun(metadata.kind));
    Err(ScriptError::new(format!("{function}() publishes a {}; `{key}` is a {given}", noun(kind)))
        .hint(format!("a {given} is published by `{}(meta, handler)`", publisher(metadata.kind))))
}

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

/// A handler that is published unwrapped is never run: it must answer what clients ask of this kind.
fn check_target(metadata: &Metadata, handler: &BackendHandler) -> Result<(), ScriptError> {
    let (target, key) = (&handler.target, metadata.definition.key());
    if target.kind != metadata.kind {
        let (given, wanted) = (noun(target.kind), noun(metadata.kind));
        return Err(ScriptError::new(format!("the handler of the {wanted} `{key}` is that of a {given}"))
            .hint(format!("wrap it in a function that returns what a {wanted} returns")));
    }
    if target.kind == ItemKind::ResourceTemplate && target.name.as_ref() != key {
        return Err(ScriptError::new(format!("the server knows no URIs of the form `{key}`, only `{}`", target.name))
            .hint("wrap the handler in a function that calls it with the server's own `uri`"));
    }
    Ok(())
}

/// Unchanged schemas of a backend may lack the type, as some servers do; what the script made must be right.
pub(crate) fn check_schema(metadata: &Metadata) -> Result<(), ScriptError> {
    let definition = &metadata.definition;
    let fault = |what: &str| {
        ScriptError::new(format!("the parameters of `{}` are not an object schema: {what}", definition.key()))
            .hint("a tool's schema has the form `{\"type\": \"object\", \"properties\": {...}}`")
    };
    let object = Object::of(definition.raw()).map_err(|error| fault(&error.to_string()))?;
    let schema = object.get("inputSchema").ok_or_else(|| fault("there are none"))?;
    let members = Object::of(schema).map_err(|error| fault(&error.to_string()))?;
    match members.get("type").map(|kind| kind.get()) {
        Some("\"object\"") => Ok(()),
        None if metadata.has_original_schema() => Ok(()),
        None => Err(fault("`type` is missing")),
        Some(other) => Err(fault(&format!("`type` is {other}"))),
    }
}

/// Refuses a name or URI that nobody can use, or only a backend may have chosen; notes what is odd.
pub(crate) fn check_key(metadata: &Metadata, notes: &mut Notes, place: Option<&Place>) -> Result<(), ScriptError> {
    let (kind, key) = (metadata.kind, metadata.definition.key());
    let (noun, key_noun, field) = (noun(kind), key_noun(kind), key_field(kind));
    let subject = if key_noun == "name" { format!("{noun} name") } else { key_noun.to_owned() };
    let cure = format!("`meta.replace({field} = ...)` gives it another one");
    match judge(kind, key) {
        Verdict::Good => {}
        Verdict::Impossible(why) => {
            let quoted = crate::json::quote(key);
            return Err(ScriptError::new(format!("the {subject} {quoted} {why}")).hint(cure));
        }
        Verdict::Odd(_) if metadata.has_original_key() => {
            let backend = metadata.origin.as_ref().map(|origin| origin.backend.to_string()).unwrap_or_default();
            let mut warning =
                Diagnostic::warning(format!("the backend `{backend}` has a {noun} with an odd {key_noun}: `{key}`"))
                    .hint(format!("some clients refuse such a {key_noun}; {cure}"));
            warning.place = place.cloned();
            notes.warnings.push(warning);
        }
        Verdict::Odd(why) => {
            return Err(ScriptError::new(format!("the {subject} `{key}` is not allowed: {why}")));
        }
    }
    Ok(())
}

pub(crate) fn check_free(metadata: &Metadata, notes: &mut Notes, place: Option<&Place>) -> Result<(), ScriptError> {
    let (kind, key) = (metadata.kind, metadata.definition.key());
    if let Some(earlier) = notes.published.get(&(kind, key.to_owned())) {
        let (key_noun, place) = (key_noun(kind), &earlier.place);
        let whose =
            |backend: Option<&Arc<str>>| backend.map(|name| format!(" (of server `{name}`)")).unwrap_or_default();
        let (this, other) =
            (whose(metadata.origin.as_ref().map(|origin| &origin.backend)), whose(earlier.backend.as_ref()));
        return Err(ScriptError::new(format!("the {key_noun} `{key}`{this} is already published, at {place}{other}"))
            .hint(format!("`meta.replace({} = ...)` gives one of them another {key_noun}", key_field(kind))));
    }
    let backend = metadata.origin.as_ref().map(|origin| origin.backend.clone());
    let place = place.map(Place::short).unwrap_or_default();
    notes.published.insert((kind, key.to_owned()), Earlier { place, backend });
    Ok(())
}
