//! What only extensions can do: one file a module. Each is a thin layer over `reach`, and acts through the host.

mod data;
mod env;
mod exec;
mod http;
mod postgres;
mod sqlite;
mod time;
mod uuid;

use std::future::Future;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value as Json;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::values::float::UnpackFloat;
use starlark::values::none::NoneOr;
use starlark::values::{Heap, Value};

use super::permissions::Permissions;
use super::world::World;
use crate::host_io::{Statement, Wants};
use crate::json::raw;
use crate::script::{Context, convert, script_error};

/// A module's name, and what adds its members.
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

/// What each module says of itself as a whole: what it is for, and what it needs.
pub fn about() -> impl Iterator<Item = (&'static str, String)> {
    ALL.into_iter().map(|(name, members)| {
        let alone = GlobalsBuilder::new().with(members).build();
        (name, alone.docstring().unwrap_or_default().to_owned())
    })
}

/// Does something to the world that takes its time, within what the extension may do.
fn act<'v, 'a, F>(
    kind: &'static str,
    request: &impl Serialize,
    eval: &mut Evaluator<'v, 'a, '_>,
    perform: impl FnOnce(&'a World) -> F,
) -> starlark::Result<Value<'v>>
where
    F: Future<Output = Result<Json, String>> + 'a,
{
    act_if(kind, request, eval, |_| Ok(()), perform)
}

/// The same where a test may stand in for the world: what the extension has declared holds there too.
fn act_if<'v, 'a, F>(
    kind: &'static str,
    request: &impl Serialize,
    eval: &mut Evaluator<'v, 'a, '_>,
    allowed: impl FnOnce(&Permissions) -> Result<(), String>,
    perform: impl FnOnce(&'a World) -> F,
) -> starlark::Result<Value<'v>>
where
    F: Future<Output = Result<Json, String>> + 'a,
{
    let (context, world) = (Context::of(eval)?, World::of(eval)?);
    let request = raw(request);
    let result = context.effect(kind, &[request.get()], |host| {
        if let Some(Err(problem)) = world.declared().map(allowed) {
            return Ok(Err(problem));
        }
        match host.stands_in_here(kind, &request, eval) {
            Some(answer) => Ok(answer),
            None => Ok(host.wait_for(perform(world))?.map(|value| raw(&value))),
        }
    })?;
    Ok(convert::text_to_starlark(result.get(), eval.heap())?)
}

/// The same for what is there at once and may be wanted at the top level too: there it is simply done.
fn look<'v>(
    kind: &'static str,
    request: &str,
    eval: &mut Evaluator<'v, '_, '_>,
    perform: impl FnOnce() -> Result<Json, String>,
) -> starlark::Result<Value<'v>> {
    let context = Context::of(eval)?;
    if context.host.is_none() {
        return Ok(convert::to_starlark(&perform().map_err(script_error)?, eval.heap())?);
    }
    let result = context.effect(kind, &[request], |_| Ok(perform().map(|value| raw(&value))))?;
    Ok(convert::text_to_starlark(result.get(), eval.heap())?)
}

/// What a script asks of a database.
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
fn seconds(what: &str, given: UnpackFloat) -> starlark::Result<f64> {
    match Duration::try_from_secs_f64(given.0) {
        Ok(duration) if !duration.is_zero() => Ok(given.0),
        _ => Err(script_error(format!("`{what}` must be a number of seconds above 0"))),
    }
}

/// A dict of texts that may be left out; numbers and bools become text, what is None is left out.
fn pairs<'v>(what: &str, given: NoneOr<Value<'v>>, heap: Heap<'v>) -> starlark::Result<Vec<(String, String)>> {
    let Some(given) = given.into_option() else { return Ok(Vec::new()) };
    let wrong = |name: &str| script_error(format!("`{what}` must be a dict of texts{name}"));
    let members = convert::to_object(given, heap)?.ok_or_else(|| wrong(&format!(", not a `{}`", given.get_type())))?;
    let text = |(name, value): (String, Json)| match value {
        Json::Null => None,
        Json::String(text) => Some(Ok((name, text))),
        Json::Number(_) | Json::Bool(_) => Some(Ok((name, value.to_string()))),
        _ => Some(Err(wrong(&format!("; `{name}` is none")))),
    };
    members.into_iter().filter_map(text).collect()
}
