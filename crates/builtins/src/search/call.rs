//! Calls a tool of a search index the way a client's `tools/call` does: with the request hook and the schema checks.

use serde_json::Value as Json;
use starlark::eval::Evaluator;
use starlark::values::tuple::TupleRef;
use starlark::values::{Value, ValueLike};

use super::explanation::{Explanation, missing_arguments};
use super::handle::SearchHandle;
use super::index::MAX_SHOWN_NAME;
use crate::admission::{Admitted, admit_tool};
use crate::effects::backend_handler::BackendHandler;
use crate::effects::wrapper::is_unchecked;
use crate::metadata::Metadata;
use crate::session::World;
use proxy_json::{Raw, RawRef, raw};
use proxy_model::{
    CallRefusal, NOT_PUBLISHED, RefusalReason, checked_output, error_result, is_error_result, is_invalid_params_result,
    shaped,
};
use proxy_script::{
    CallOptions, Context, Failure, Host, Limits, NotedFact, ToolFacts, ToolRefusal, convert, error_message,
    script_error,
};

/// Calls a `(metadata, handler)` tuple. Errors of the tool become error results; only errors that end the handler are
/// returned as errors. A tool that the caller must not know of gets the answer for an unknown tool. With an explanation,
/// the answer to wrong arguments has the tool's signature and schema.
pub(crate) fn call_tool<'v, 'a, 'e>(
    tool: Value<'v>,
    arguments: Value<'v>,
    explanation: Option<Explanation>,
    eval: &mut Evaluator<'v, 'a, 'e>,
    unknown: impl FnOnce(&mut Evaluator<'v, 'a, 'e>) -> starlark::Result<Value<'v>>,
) -> starlark::Result<Value<'v>> {
    let pair = TupleRef::from_value(tool).map(TupleRef::content);
    let Some([metadata, handler]) = pair else { return Err(script_error("invalid search index")) };
    let metadata = metadata.downcast_ref::<Metadata>().ok_or_else(|| script_error("invalid search index"))?;
    let name = metadata.definition.key();
    let context = Context::of(eval)?;
    let object = convert::to_object(arguments, eval.heap())
        .map_err(|error| script_error(format!("the arguments of `{name}` cannot be converted to JSON: {error}")))?;
    let Some(object) = object else {
        return failed(&format!("the arguments of `{name}` must be an object"), eval);
    };
    let json = Json::Object(object);
    let host = context.host_for("calling a tool of a search index")?;
    // Before everything that the script decides.
    let facts = ToolFacts::of(&metadata.definition, metadata.origin.as_ref());
    let permitted_by = match host.admit(facts, &json) {
        Ok(number) => number,
        Err(ToolRefusal::Unknown) => return unknown(eval),
        Err(ToolRefusal::Refused(reason)) => return failed(&reason, eval),
    };
    let checks = metadata.argument_checks(*handler, &World::of(eval)?.snapshot);
    let admitted = match admit_tool(name, &json, checks.as_ref(), eval) {
        Ok(Admitted::Yes) if explanation.is_some() && !is_unchecked(*handler) => {
            let missing = missing_arguments(&metadata.definition, &json);
            Ok(missing.map_or(Admitted::Yes, Admitted::Mismatched))
        }
        other => other,
    };
    match admitted {
        Ok(Admitted::Yes) => {}
        Ok(Admitted::Answered(answer)) => {
            let result = tool_result(metadata, *handler, answer, eval)?;
            return Ok(convert::text_to_starlark(result.get(), eval.heap())?);
        }
        Ok(Admitted::Mismatched(why)) => {
            let refusal = CallRefusal { reason: RefusalReason::Schema, at: None, why: why.clone() };
            host.scope.note(NotedFact::Refused(refusal));
            return match explanation {
                Some(explanation) => returned(&explanation.refusal(&metadata.definition, &why), eval),
                None => failed(&why, eval),
            };
        }
        Err(error) if context.is_final(&error) => return Err(error),
        Err(error) => {
            let failure = Failure { in_hook: true, ..Failure::of(&error, context, &Limits::HANDLER) };
            if let Some(reason) = failure.refusal() {
                let (at, why) = (failure.short_place(), failure.message.clone());
                host.scope.note(NotedFact::Refused(CallRefusal { reason, at, why }));
            }
            return failed(&failure.for_client(), eval);
        }
    }
    if let Some(forwarded) = handler.downcast_ref::<BackendHandler>() {
        // The server's own tool under another name: the policies were asked about this very call. A handler that was taken
        // from another tool is asked about like every other.
        let permitted_by = permitted_by.filter(|_| metadata.origin.as_ref() == Some(&forwarded.target));
        let options = CallOptions {
            permitted_by,
            via: context.via().or_else(|| Some(name.into())),
            marks_invalid_params: explanation.is_some(),
            ..CallOptions::default()
        };
        if explanation.is_none() {
            return forwarded.call(arguments, options, eval);
        }
        let result = forwarded.call_for_text(arguments, options, eval)?;
        return explained(&result, explanation, (metadata, *handler), &json, eval);
    }
    let request = json.to_string();
    let result = context.nested_function("index.call", &[name, &request], eval, |eval| {
        Context::of(eval)?
            .used_as(name, || guarded(metadata, &json, eval, |eval| run_handler(metadata, *handler, arguments, eval)))
    })?;
    explained(&result, explanation, (metadata, *handler), &json, eval)
}

/// The result of a tool, with an explanation if its arguments were wrong: if its server said so, or if it failed and they do
/// not match its schema.
fn explained<'v>(
    result: &RawRef,
    explanation: Option<Explanation>,
    (metadata, handler): (&Metadata, Value<'v>),
    arguments: &Json,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Value<'v>> {
    let Some(explanation) = explanation else { return returned(result, eval) };
    if !is_error_result(result) {
        return returned(result, eval);
    }
    let context = Context::of(eval)?;
    let is_refused = || {
        let checks = metadata.tool_checks(handler, &World::of(eval)?.snapshot);
        let name = metadata.definition.key();
        let checked = checks.check_arguments(name, arguments, &metadata.bound, &|| context.pause());
        Ok::<_, starlark::Error>(checked.is_err())
    };
    if is_invalid_params_result(result) || is_refused()? {
        return returned(&explanation.of_server(&metadata.definition, result), eval);
    }
    returned(result, eval)
}

/// A result as a Starlark value.
fn returned<'v>(result: &RawRef, eval: &Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
    convert::text_to_starlark(result.get(), eval.heap()).map_err(|error| script_error(error.to_string()))
}

/// Runs the handler of a tool that the script has made. If the tool has labels, the flow rules are asked before, and the marks
/// are stored after.
fn guarded<'v, 'a, 'e>(
    metadata: &Metadata,
    arguments: &Json,
    eval: &mut Evaluator<'v, 'a, 'e>,
    run: impl FnOnce(&mut Evaluator<'v, 'a, 'e>) -> starlark::Result<Raw>,
) -> starlark::Result<Raw> {
    let context = Context::of(eval)?;
    let name = metadata.definition.key();
    let flow = context.host.as_ref().and_then(|host| host.flow.clone());
    let guard = flow.map(|flow| (flow.labels_of_made(name, metadata.labels.as_ref()), flow));
    let Some((labels, flow)) = guard.filter(|(labels, _)| !labels.is_empty()) else { return run(eval) };
    let arguments = raw(arguments);
    let stopped = context.nested("flow.admit", &[name], |_, cursor| {
        Ok(Ok(raw(&flow.admit(name, &labels, &arguments, cursor)?.err())))
    })?;
    if let Ok(Some(stopped)) = serde_json::from_str::<Option<String>>(stopped.get()) {
        return Ok(error_result(&stopped));
    }
    let result = run(eval)?;
    match Context::of(eval)?.wait(|| flow.mark(&labels, name))? {
        Ok(()) => Ok(result),
        Err(error) => Ok(error_result(&format!("the answer of `{name}` is withheld: {error}"))),
    }
}

/// Runs a handler of the script and converts its outcome to the result that a client would get.
fn run_handler<'v>(
    metadata: &Metadata,
    handler: Value<'v>,
    arguments: Value<'v>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Raw> {
    let context = Context::of(eval)?;
    match context.invoke(eval, handler, &[arguments], &[]) {
        Ok(returned) => tool_result(metadata, handler, returned, eval),
        Err(error) if context.is_final(&error) => Err(error),
        Err(error) => Ok(error_result(&error_message(&error))),
    }
}

/// Converts a returned value to a tool result and checks it against the tool's `output_schema`.
fn tool_result<'v>(
    metadata: &Metadata,
    handler: Value<'v>,
    returned: Value<'v>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Raw> {
    let name = metadata.definition.key();
    let returned = convert::to_json(returned, eval.heap())
        .map_err(|error| script_error(format!("the result of `{name}` cannot be converted to JSON: {error}")))?;
    let result = shaped(returned, true);
    let checks = metadata.tool_checks(handler, &World::of(eval)?.snapshot);
    let context = Context::of(eval)?;
    Ok(match checked_output(name, checks.output(), result, &|| context.pause()) {
        Ok(result) => proxy_json::raw(&result),
        Err(problem) => error_result(&problem),
    })
}

/// Records a call to a tool that is not among the tools that the script may call for the client.
pub(crate) fn note_unknown(host: &Host) {
    let refusal = CallRefusal { reason: RefusalReason::Unknown, at: None, why: NOT_PUBLISHED.to_owned() };
    host.scope.note(NotedFact::Refused(refusal));
}

/// Records a call to a tool that the caller must not know about.
pub(crate) fn note_hidden(host: &Host, tool: Value<'_>) {
    let metadata = TupleRef::from_value(tool).and_then(|pair| pair.content().first().copied());
    let metadata = metadata.as_ref().and_then(|metadata| metadata.downcast_ref::<Metadata>());
    if let (Some(authorization), Some(metadata)) = (&host.authorization, metadata) {
        authorization.note_hidden(ToolFacts::of(&metadata.definition, metadata.origin.as_ref()));
    }
}

/// The error result for an unknown name, which suggests similar names.
pub(crate) fn unknown_tool<'v>(
    name: &str,
    handle: &SearchHandle,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Value<'v>> {
    let listed = handle.listed(Context::of(eval)?);
    let message = handle.query("index.call", &[name], Context::of(eval)?, |handle| {
        let near = handle.nearest(name, listed.as_deref());
        let shown: String = name.chars().take(MAX_SHOWN_NAME).collect();
        let near: Vec<String> = near.into_iter().map(|name| format!("`{name}`")).collect();
        let hint = if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) };
        format!("there is no tool `{shown}`{hint}").into()
    })?;
    failed(&serde_json::from_str::<String>(message.get()).unwrap_or_default(), eval)
}

/// An error result as a Starlark value.
fn failed<'v>(text: &str, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
    returned(&error_result(text), eval)
}
