//! The modules available only to extensions, one per file. Each is a thin layer over `host-io`.

mod data;
mod env;
mod exec;
mod http;
mod postgres;
mod sqlite;
mod time;
mod uuid;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value as Json;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::values::float::UnpackFloat;
use starlark::values::none::NoneOr;
use starlark::values::{Heap, Value};

use super::permissions::Permissions;
use super::runtime::ExtensionRuntime;
use proxy_host_io::{Statement, Wants};
use proxy_json::{Raw, raw};
use proxy_script::{Context, convert, script_error};

/// The name of a module, and the function that adds its members.
type Module = (&'static str, fn(&mut GlobalsBuilder));

const ALL: [Module; 8] = [
    ("data", data::members),
    ("env", env::members),
    ("exec", exec::members),
    ("http", http::members),
    ("postgres", postgres::members),
    ("sqlite", sqlite::members),
    ("time", time::members),
    ("uuid", uuid::members),
];

pub(super) fn register(builder: &mut GlobalsBuilder) {
    for (name, members) in ALL {
        builder.namespace(name, members);
    }
}

/// The documentation of each module as a whole.
pub fn about() -> impl Iterator<Item = (&'static str, String)> {
    ALL.into_iter().map(|(name, members)| {
        let alone = GlobalsBuilder::new().with(members).build();
        (name, alone.docstring().unwrap_or_default().to_owned())
    })
}

/// Performs an asynchronous effect of the extension.
fn perform<'v, 'a, F>(
    kind: &'static str,
    request: &impl Serialize,
    eval: &mut Evaluator<'v, 'a, '_>,
    run: impl FnOnce(&'a ExtensionRuntime) -> F,
) -> starlark::Result<Value<'v>>
where
    F: Future<Output = Result<Json, String>> + 'a,
{
    perform_if(kind, request, eval, |_| Ok(()), run)
}

/// Performs an asynchronous effect of the extension if its permissions allow it. They are checked before a mock of a test
/// is used, too.
fn perform_if<'v, 'a, F>(
    kind: &'static str,
    request: &impl Serialize,
    eval: &mut Evaluator<'v, 'a, '_>,
    allowed: impl FnOnce(&Permissions) -> Result<(), String>,
    run: impl FnOnce(&'a ExtensionRuntime) -> F,
) -> starlark::Result<Value<'v>>
where
    F: Future<Output = Result<Json, String>> + 'a,
{
    let result = effect_if(kind, request, eval, allowed, run)?;
    Ok(convert::text_to_starlark(result.get(), eval.heap())?)
}

/// Like [`perform_if`], but returns the result as JSON.
pub(super) fn effect_if<'a, F>(
    kind: &'static str,
    request: &impl Serialize,
    eval: &mut Evaluator<'_, 'a, '_>,
    allowed: impl FnOnce(&Permissions) -> Result<(), String>,
    run: impl FnOnce(&'a ExtensionRuntime) -> F,
) -> starlark::Result<Arc<Raw>>
where
    F: Future<Output = Result<Json, String>> + 'a,
{
    let (context, runtime) = (Context::of(eval)?, ExtensionRuntime::of(eval)?);
    let request = raw(request);
    context.effect(kind, &[request.get()], |host| {
        if let Some(Err(problem)) = runtime.declared().map(allowed) {
            return Ok(Err(problem));
        }
        match host.mock(kind, &request, Some(&mut *eval)) {
            Some(answer) => Ok(answer),
            None if runtime.host_io.needs_doubles && is_outside(kind) => Ok(Err(without_double(kind))),
            None => Ok(host.wait_for(run(runtime))?.map(|value| raw(&value))),
        }
    })
}

/// Whether an effect reaches the network, another program or a file.
fn is_outside(kind: &str) -> bool {
    !kind.starts_with("time.") && !kind.starts_with("uuid.")
}

/// The error of an effect that would be real where only doubles are allowed.
fn without_double(kind: &str) -> String {
    let double = match kind.split('.').next() {
        Some("http") => "give it a reply with `testing.http({\"https://…\": …})`",
        Some("exec") => "give it a reply with `testing.exec({\"command …\": …})`",
        _ => "test the rest of the tool, and this where effects are allowed: `proxy test`",
    };
    format!("`{kind}` is not available here, where scripts have no effects; {double}")
}

/// Performs a synchronous effect that is allowed at the top level too, where it is not recorded.
fn perform_now<'v>(
    kind: &'static str,
    request: &str,
    eval: &mut Evaluator<'v, '_, '_>,
    run: impl FnOnce() -> Result<Json, String>,
) -> starlark::Result<Value<'v>> {
    let context = Context::of(eval)?;
    if context.host.is_none() {
        return Ok(convert::to_starlark(&run().map_err(script_error)?, eval.heap())?);
    }
    let result = context.effect(kind, &[request], |_| Ok(run().map(|value| raw(&value))))?;
    Ok(convert::text_to_starlark(result.get(), eval.heap())?)
}

/// A statement for a database.
fn statement<'v>(
    database: &str,
    sql: &str,
    params: NoneOr<Value<'v>>,
    wants: Wants,
    eval: &Evaluator<'v, '_, '_>,
) -> starlark::Result<Statement> {
    let params = convert::to_json(params.into_option().unwrap_or_default(), eval.heap())?;
    Ok(Statement { database: database.to_owned(), sql: sql.to_owned(), params, wants })
}

/// A number of seconds above 0.
pub(super) fn seconds(what: &str, value: UnpackFloat) -> starlark::Result<f64> {
    match Duration::try_from_secs_f64(value.0) {
        Ok(duration) if !duration.is_zero() => Ok(value.0),
        _ => Err(script_error(format!("`{what}` must be a number of seconds above 0"))),
    }
}

/// An optional dict of strings. Numbers and bools become strings; members that are None are omitted.
pub(super) fn pairs<'v>(
    what: &str,
    dict: NoneOr<Value<'v>>,
    heap: Heap<'v>,
) -> starlark::Result<Vec<(String, String)>> {
    let Some(dict) = dict.into_option() else { return Ok(Vec::new()) };
    let wrong = |name: &str| script_error(format!("`{what}` must be a dict of strings{name}"));
    let members = convert::to_object(dict, heap)?.ok_or_else(|| wrong(&format!(", not a `{}`", dict.get_type())))?;
    let text = |(name, value): (String, Json)| match value {
        Json::Null => None,
        Json::String(text) => Some(Ok((name, text))),
        Json::Number(_) | Json::Bool(_) => Some(Ok((name, value.to_string()))),
        _ => Some(Err(wrong(&format!("; `{name}` is not one")))),
    };
    members.into_iter().filter_map(text).collect()
}
