//! Whether a pair of metadata and handler can be used. Each error has a hint that says how to fix it.

use starlark::values::{Value, ValueLike};

use super::Metadata;
use crate::effects::backend_handler::BackendHandler;
use crate::kinds::{lister, maker, noun, publisher};
use proxy_model::{ItemKind, ToolChecks, ToolSchema};
use proxy_script::ScriptError;

/// Returns the value as metadata of that kind.
pub(crate) fn metadata_of<'v>(kind: ItemKind, value: Value<'v>) -> Result<&'v Metadata, ScriptError> {
    let function = publisher(kind);
    let metadata = value.downcast_ref::<Metadata>().ok_or_else(|| {
        let actual = value.get_type();
        ScriptError::new(format!("the first argument of {function}() must be metadata, not a `{actual}`"))
            .hint(format!("take it from `backend.{}()` or create it with `{}(...)`", lister(kind), maker(kind)))
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
            "the `timeout` of `{key}` needs a handler written in the script, but this handler is a server's own"
        ))
        .hint("wrap the handler: `lambda args: call(args, timeout = 10)`"));
    }
    if target.kind != metadata.kind {
        let (actual, expected) = (noun(target.kind), noun(metadata.kind));
        return Err(ScriptError::new(format!("the handler of the {expected} `{key}` belongs to a {actual}"))
            .hint(format!("wrap it in a function that returns what a {expected} returns")));
    }
    if target.kind == ItemKind::ResourceTemplate && target.name.as_ref() != key {
        return Err(ScriptError::new(format!("the server has no resource template `{key}`, only `{}`", target.name))
            .hint("wrap the handler in a function that calls it with the server's own `uri`"));
    }
    Ok(())
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
