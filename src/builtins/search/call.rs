//! A tool of a search index, called as if the client had named it.

use serde_json::Value as Json;
use starlark::eval::Evaluator;
use starlark::values::tuple::TupleRef;
use starlark::values::{Value, ValueLike};

use super::handle::SearchHandle;
use crate::builtins::backends::BackendHandler;
use crate::builtins::metadata::Metadata;
use crate::builtins::session::hook;
use crate::json::{Raw, Schema};
use crate::model::{error_result, shaped};
use crate::script::{Context, convert, error_message, script_error};

/// How many names are suggested for one that does not exist.
const SUGGESTED: usize = 3;

pub(crate) fn call_tool<'v>(
    tool: Value<'v>,
    arguments: Value<'v>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Value<'v>> {
    let pair = TupleRef::from_value(tool).map(TupleRef::content);
    let Some([metadata, handler]) = pair else { return Err(script_error("this search index is broken")) };
    let metadata = metadata.downcast_ref::<Metadata>().ok_or_else(|| script_error("this search index is broken"))?;
    let name = metadata.definition.key();
    let context = Context::of(eval)?;
    let given = convert::to_object(arguments, eval.heap())
        .map_err(|error| script_error(format!("the arguments of `{name}` cannot become JSON: {error}")))?;
    let Some(given) = given else {
        return failed(&format!("the arguments of `{name}` must be an object"), eval);
    };
    let given = Json::Object(given);
    match hook::ask_for_tool(name, &given, eval) {
        Ok(None) => {}
        Ok(Some(answer)) => {
            let result = result(metadata, answer, eval)?;
            return Ok(convert::text_to_starlark(result.get(), eval.heap())?);
        }
        Err(error) if context.is_final(&error) => return Err(error),
        Err(error) => return failed(&error_message(&error), eval),
    }
    // A server checks for itself.
    if handler.downcast_ref::<BackendHandler>().is_some() {
        return context.invoke(eval, *handler, &[arguments], &[]);
    }
    if let Err(mismatch) = check(metadata, "inputSchema", &given) {
        return failed(&format!("invalid arguments for `{name}`: {mismatch}"), eval);
    }
    let request = given.to_string();
    let result = context
        .nested_function("index.call", &[name, &request], eval, |eval| handled(metadata, *handler, arguments, eval))?;
    Ok(convert::text_to_starlark(result.get(), eval.heap())?)
}

/// What a handler of the script makes of it, as its client would get it.
fn handled<'v>(
    metadata: &Metadata,
    handler: Value<'v>,
    arguments: Value<'v>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Raw> {
    let context = Context::of(eval)?;
    match context.invoke(eval, handler, &[arguments], &[]) {
        Ok(returned) => result(metadata, returned, eval),
        Err(error) if context.is_final(&error) => Err(error),
        Err(error) => Ok(error_result(&error_message(&error))),
    }
}

/// What a handler returned, as the result it stands for, if that is what the tool promises.
fn result<'v>(metadata: &Metadata, returned: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Raw> {
    let name = metadata.definition.key();
    let returned = convert::to_json(returned, eval.heap())
        .map_err(|error| script_error(format!("`{name}` returned what cannot become JSON: {error}")))?;
    let result = shaped(returned, true);
    let is_error = result.get("isError") == Some(&Json::Bool(true));
    if !is_error && metadata.definition.member("outputSchema").is_some() {
        let structured = result.get("structuredContent").cloned().unwrap_or_default();
        if let Err(mismatch) = check(metadata, "outputSchema", &structured) {
            let problem = format!("`{name}` returned something its `output_schema` does not allow: {mismatch}");
            return Ok(error_result(&problem));
        }
    }
    Ok(crate::json::raw(&result))
}

pub(crate) fn unknown_tool<'v>(
    name: &str,
    handle: &SearchHandle,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Value<'v>> {
    let refused = handle.ask("index.call", &[name], Context::of(eval)?, |handle| {
        let near = handle.shared.ready().nearest_names(name, SUGGESTED);
        let shown: String = name.chars().take(128).collect();
        let near: Vec<String> = near.into_iter().map(|name| format!("`{name}`")).collect();
        let hint = if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) };
        format!("there is no tool `{shown}`{hint}").into()
    })?;
    failed(&serde_json::from_str::<String>(refused.get()).unwrap_or_default(), eval)
}

/// A schema that cannot be used checks nothing, as when the client calls the tool itself.
fn check(metadata: &Metadata, member: &str, value: &Json) -> Result<(), String> {
    let schema = metadata.definition.member(member).and_then(|schema| Schema::compile(&schema).ok());
    schema.map_or(Ok(()), |schema| schema.check(value).map_err(|mismatch| mismatch.to_string()))
}

fn failed<'v>(text: &str, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
    let result: Raw = error_result(text);
    convert::text_to_starlark(result.get(), eval.heap()).map_err(|error| script_error(error.to_string()))
}
