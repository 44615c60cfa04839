//! One line of control of a script in code mode, as far as it shows here: what it calls, in its order.

use std::sync::Arc;
use std::time::Duration;

use starlark::eval::Evaluator;

use super::branch;
use super::tools::CodeTools;
use crate::builtins::search::call::call_tool;
use crate::builtins::session::World;
use crate::config::CodeMode;
use crate::json::{Raw, RawRef};
use crate::model::error_result;
use crate::sandbox::{Event, ExitReason, Run, ScriptResult, WorkerRequest};
use crate::script::{Context, convert, error_message};

/// More than anybody reads.
const MOST_RESULTS: usize = 50;

/// How a line came to its end.
pub(crate) enum Outcome {
    /// It was one of several, and there is nothing more to it.
    End,
    Done(ScriptResult),
    Ended(ExitReason),
}

/// Serves a line to its end. An error is one that ends the whole run.
pub(crate) fn serve<'v>(
    run: &Arc<Run>,
    line: &str,
    tools: &CodeTools<'v>,
    limits: &CodeMode,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Outcome> {
    let context = Context::of(eval)?;
    let host = context.host_for("`run_script()`")?;
    loop {
        let event = match context.wait(|| host.wait_for(run.next(line)))? {
            Ok(event) => event,
            Err(ending) => return Ok(Outcome::Ended(ending)),
        };
        let (at, want) = match event {
            Event::End => return Ok(Outcome::End),
            Event::Done(last) => return Ok(Outcome::Done(last)),
            Event::WorkerRequest { at, want } => (at, want),
        };
        let value = match want {
            WorkerRequest::Fork { count, limit } => {
                let branches = branch::branches(run, &at, count, tools, limits, eval.heap());
                match context.parallel("run_script", eval, &branches, limit) {
                    Ok(_) => continue,
                    Err(error) if context.is_final(&error) => return Err(error),
                    Err(error) => match run.ending() {
                        Some(ending) => return Ok(Outcome::Ended(ending)),
                        None => return Err(error),
                    },
                }
            }
            WorkerRequest::Call { tool, arguments } => {
                let timeout = limits.tool_call_timeout.min(run.time_left());
                called(&tool, &arguments, timeout, tools, eval)?
            }
            WorkerRequest::Search { query, limit } => searched(&query, limit, tools, eval)?,
        };
        context.wait(|| host.wait_for(run.answer(&at, &value)))?;
    }
}

/// Calls a tool for the script, which gets so much time and no more, whatever it is made of. What goes wrong is an error
/// result, unless it ends the run.
fn called<'v>(
    name: &str,
    arguments: &RawRef,
    timeout: Duration,
    tools: &CodeTools<'v>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Raw> {
    let Some(tool) = tools.get(name) else { return Ok(error_result(&tools.unknown(name))) };
    let context = Context::of(eval)?;
    let result = context.nested_function("call_tool", &[name, arguments.get()], eval, |eval| {
        let called = Context::of(eval)?.within_time(timeout, eval, |eval| {
            let heap = eval.heap();
            let arguments = convert::text_to_starlark(arguments.get(), heap)?;
            let result = call_tool(tool, arguments, eval)?;
            Ok(crate::json::raw(&convert::to_json(result, heap)?))
        });
        match called {
            Ok(Some(result)) => Ok(result),
            Ok(None) => Ok(error_result(&format!("`{name}` did not answer within {} s", timeout.as_secs_f32()))),
            Err(error) if Context::of(eval)?.is_final(&error) => Err(error),
            Err(error) => Ok(error_result(&error_message(&error))),
        }
    })?;
    Ok(RawRef::to_owned(&result))
}

fn searched<'v>(
    query: &str,
    limit: usize,
    tools: &CodeTools<'v>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Raw> {
    let world = World::of(eval)?;
    let limit = limit.min(MOST_RESULTS);
    let found = Context::of(eval)?.effect("search_tools", &[query, &limit.to_string()], |_| {
        Ok(Ok(crate::json::raw(&tools.search(query, limit, world))))
    })?;
    Ok(RawRef::to_owned(&found))
}
