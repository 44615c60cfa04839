//! Checks that the constructors share: names, handlers, optional members.

use std::time::Duration;

use serde_json::{Map, Value as Json};
use starlark::eval::Evaluator;
use starlark::values::float::UnpackFloat;
use starlark::values::none::NoneOr;
use starlark::values::{Heap, Value, ValueLike};

use crate::extension::executable::CommandHandler;
use proxy_builtins::check_complete;
use proxy_json::{Schema, quote};
use proxy_model::{Definition, ItemKind};
use proxy_script::{CallSite, CallSites, ScriptError, convert, script_error};

pub(super) fn name(what: &str, name: &str) -> Result<(), ScriptError> {
    if proxy_builtins::is_plain_name(name) {
        return Ok(());
    }
    Err(ScriptError::new(format!("the {what} name {} is not allowed", quote(name)))
        .hint("letters, digits, `_`, `.` and `-` only, at most 128 of them"))
}

/// Checks that a handler takes one argument. `what` names the item, as in "the tool `greet`".
pub(super) fn handler(what: &str, handler: Value<'_>) -> Result<(), ScriptError> {
    let takes_one = handler.parameters_spec().is_none_or(|parameters| parameters.can_fill_with_args(1, &[]));
    if (handler.get_type() == "function" && takes_one) || handler.downcast_ref::<CommandHandler>().is_some() {
        return Ok(());
    }
    Err(ScriptError::new(format!("the handler of {what} is not a function of one argument"))
        .hint("a handler takes one dict: `def handler(params): ...`; an executable is one with `command([...])`"))
}

/// Inserts an optional string member, unless it is empty.
pub(super) fn text(members: &mut Map<String, Json>, member: &str, value: NoneOr<&str>) {
    if let Some(text) = value.into_option().filter(|text| !text.is_empty()) {
        members.insert(member.to_owned(), text.into());
    }
}

/// An optional dict, without its members that are None.
pub(super) fn dict<'v>(
    what: &str,
    member: &str,
    value: NoneOr<Value<'v>>,
    heap: Heap<'v>,
) -> starlark::Result<Option<Json>> {
    let Some(value) = value.into_option() else { return Ok(None) };
    let mut object = convert::to_object(value, heap)?
        .ok_or_else(|| script_error(format!("`{member}` of {what} must be a dict, not a `{}`", value.get_type())))?;
    object.retain(|_, value| !value.is_null());
    Ok(Some(object.into()))
}

/// A number of seconds above 0.
pub(super) fn seconds(what: &str, member: &str, value: UnpackFloat) -> Result<Duration, ScriptError> {
    match Duration::try_from_secs_f64(value.0) {
        Ok(duration) if !duration.is_zero() => Ok(duration),
        _ => Err(ScriptError::new(format!("`{member}` of {what} must be a number of seconds above 0"))
            .hint(format!("as in `{member} = 30`; without it there is no limit"))),
    }
}

pub(super) fn schema(what: &str, schema: &Json) -> starlark::Result<Schema> {
    Schema::compile(schema).map_err(|error| script_error(format!("{what}: {error}")))
}

/// An optional list of strings.
pub(super) fn texts<'v>(
    option: &str,
    value: NoneOr<Value<'v>>,
    heap: Heap<'v>,
) -> starlark::Result<Option<Vec<String>>> {
    let Some(value) = value.into_option() else { return Ok(None) };
    let wrong = || script_error(format!("`{option}` of Extension() must be a list of strings"));
    let Json::Array(items) = convert::to_json(value, heap)? else { return Err(wrong()) };
    items.into_iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong)).collect::<Result<_, _>>().map(Some)
}

/// Checks `complete` of a prompt or template. Returns where the item is described, if it has completion.
pub(super) fn complete<'v>(
    kind: ItemKind,
    definition: &Definition,
    complete: NoneOr<Value<'v>>,
    eval: &Evaluator<'v, '_, '_>,
) -> Result<Option<CallSite>, ScriptError> {
    let Some(complete) = complete.into_option() else { return Ok(None) };
    check_complete(kind, definition, complete)?;
    Ok(Some(CallSites::default().current(eval)))
}
