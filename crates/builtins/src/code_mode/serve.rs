//! Serves the requests of one branch of a code-mode script, in their order. The script itself runs in a sandboxed process;
//! its main flow is the branch with the empty path.

use std::sync::Arc;

use starlark::eval::Evaluator;

use super::branch::branches;
use super::tools::CodeTools;
use crate::search::call::{call_tool, note_hidden, note_unknown};
use crate::session::World;
use proxy_code_mode::sandbox::{ExitReason, ScriptEvent, ScriptResult, ScriptRun, WorkerRequest};
use proxy_config::CodeMode;
use proxy_json::{Raw, RawRef};
use proxy_model::error_result;
use proxy_script::{Context, Relay, SectionLimits, convert, error_message};

/// Upper bound of the results of `search_tools()`.
const MAX_RESULTS: usize = 50;

/// How serving a branch ended.
pub(crate) enum ServeOutcome {
    /// A branch of `parallel()` finished.
    BranchDone,
    /// The script finished.
    ScriptDone(ScriptResult),
    /// The worker process ended early.
    Exited(ExitReason),
}

/// Serves a branch to its end. An error ends the whole run.
pub(crate) fn serve<'v>(
    run: &Arc<ScriptRun>,
    branch: &str,
    tools: &CodeTools<'v>,
    limits: &CodeMode,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<ServeOutcome> {
    let context = Context::of(eval)?;
    let host = context.host_for("`run_script()`")?;
    loop {
        let event = match context.wait(|| host.wait_for(run.next(branch)))? {
            Ok(event) => event,
            Err(exit_reason) => return Ok(ServeOutcome::Exited(exit_reason)),
        };
        let (at, want) = match event {
            ScriptEvent::End => return Ok(ServeOutcome::BranchDone),
            ScriptEvent::Done(last) => return Ok(ServeOutcome::ScriptDone(last)),
            ScriptEvent::WorkerRequest { at, want } => (at, want),
        };
        let value = match want {
            WorkerRequest::Fork { count, limit } => {
                let branches = branches(run, &at, count, tools, limits, eval.heap());
                match context.parallel("run_script", eval, &branches, limit) {
                    Ok(_) => continue,
                    Err(error) if context.is_final(&error) => return Err(error),
                    Err(error) => match run.ending() {
                        Some(exit_reason) => return Ok(ServeOutcome::Exited(exit_reason)),
                        None => return Err(error),
                    },
                }
            }
            WorkerRequest::Call { tool, arguments } => {
                let timeout = limits.tool_call_timeout.min(run.time_left());
                let section = SectionLimits { timeout, relay: Relay::Progress, until: Some(run.lost().clone()) };
                call_for_script(&tool, &arguments, section, tools, eval)?
            }
            WorkerRequest::Search { query, limit } => search_for_script(&query, limit, tools, eval)?,
        };
        context.wait(|| host.wait_for(run.answer(&at, &value)))?;
    }
}

/// Calls a tool for the script, within limits that cover everything its handler does. Progress of servers reaches the
/// client; their log messages do not, because the client did not choose these calls. Failures become error results unless
/// they end the run.
fn call_for_script<'v>(
    name: &str,
    arguments: &RawRef,
    limits: SectionLimits,
    tools: &CodeTools<'v>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Raw> {
    let Some(tool) = tools.get(name) else {
        let host = Context::of(eval)?.host_for("`run_script()`")?;
        match tools.hidden(name) {
            Some(hidden) => note_hidden(host, hidden),
            None => note_unknown(host),
        }
        return Ok(error_result(&tools.unknown(name)));
    };
    let (context, timeout) = (Context::of(eval)?, limits.timeout);
    let result = context.nested_function("call_tool", &[name, arguments.get()], eval, |eval| {
        let outcome = Context::of(eval)?.with_limits(limits, eval, |eval| {
            let heap = eval.heap();
            let arguments = convert::text_to_starlark(arguments.get(), heap)?;
            let unknown = |eval: &mut Evaluator<'v, '_, '_>| {
                let result = error_result(&tools.unknown(name));
                Ok(convert::text_to_starlark(result.get(), eval.heap())?)
            };
            let result = call_tool(tool, arguments, None, eval, unknown)?;
            Ok(proxy_json::raw(&convert::to_json(result, heap)?))
        });
        match outcome {
            Ok(Some(result)) => Ok(result),
            Ok(None) => Ok(error_result(&format!("`{name}` did not answer within {} s", timeout.as_secs_f32()))),
            Err(error) if Context::of(eval)?.is_final(&error) => Err(error),
            Err(error) => Ok(error_result(&error_message(&error))),
        }
    })?;
    Ok(RawRef::to_owned(&result))
}

/// Answers `search_tools()`.
fn search_for_script<'v>(
    query: &str,
    limit: usize,
    tools: &CodeTools<'v>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Raw> {
    let world = World::of(eval)?;
    let limit = limit.min(MAX_RESULTS);
    let found = Context::of(eval)?.effect("search_tools", &[query, &limit.to_string()], |_| {
        Ok(Ok(proxy_json::raw(&tools.search(query, limit, world))))
    })?;
    Ok(RawRef::to_owned(&found))
}
