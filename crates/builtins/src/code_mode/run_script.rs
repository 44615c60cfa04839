//! `run_script()` and `tool_signatures()`. The script runs in a sandboxed process; the tools that it calls are called in this
//! process, the way a client's call does.

use std::sync::Arc;

use serde_json::json;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;

use super::serve::{ServeOutcome, serve};
use super::tools::CodeTools;
use crate::session::World;
use proxy_code_mode::sandbox::{ExitReason, ScriptJob, Workers};
use proxy_code_mode::typings::signatures;
use proxy_config::CodeMode;
use proxy_json::Raw;
use proxy_model::{Owner, error_result};
use proxy_script::{Context, convert, script_error};

#[starlark_module]
pub fn register_run_script(builder: &mut GlobalsBuilder) {
    /// Runs an untrusted Starlark script, for example one written by a model, that may call the given tools (a search
    /// index or a list of `(metadata, handler)` tuples). Returns a tool result with the script's return value as
    /// `result` in `structuredContent`, and its output, if any, as `printed`. If the script fails, returns an error
    /// result.
    ///
    /// The script calls tools as functions with named arguments (characters that identifiers do not allow become `_`),
    /// or with `call_tool(name, args)`; both return the result's payload, as `unwrap()` does. Besides tools, it can use
    /// only `data`, `parallel`, `attempt`, `search_tools`, `print` and the built-ins without effects, such as `json`,
    /// `re`, `math`, `redact` and `unwrap`. It runs in a separate process within the limits in the config's `codeMode`
    /// section. Its calls work like `index.call`. Only while a call is handled.
    ///
    /// The script sees the dict `data`, which is empty by default, under the same name.
    ///
    /// ```python
    /// index = search_index(aggregate(backends()))
    ///
    /// def handler(args):
    ///     return run_script(args["script"], index, data = {"today": args["today"]})
    /// ```
    fn run_script<'v>(
        #[starlark(require = pos)] source: &str,
        #[starlark(require = pos)] tools: Value<'v>,
        data: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let context = Context::of(eval)?;
        context.host_for("`run_script()`")?;
        let tools = CodeTools::of("run_script", tools, eval)?;
        let data = match data {
            Some(data) => convert::to_json(data, eval.heap())
                .map_err(|error| script_error(format!("`data` cannot be converted to JSON: {error}")))?,
            None => json!({}),
        };
        let limits = World::of(eval)?.settings.code_mode.clone();
        let job = ScriptJob::new(source, &data, tools.definitions(), &limits);
        let request = [source, &data.to_string()];
        let result = context.nested_function("run_script", &request, eval, |eval| run(job, &tools, &limits, eval))?;
        Ok(convert::text_to_starlark(result.get(), eval.heap())?)
    }

    /// Returns typed tool signatures for `run_script()` scripts: one line per tool, with the first sentence of its
    /// description below. `tools` is a search index or a list of `(metadata, handler)` tuples. Put the text into the
    /// description of a tool that runs scripts.
    ///
    /// ```python
    /// tool_signatures(backends()["docs"].tools())    # "search(query: str, limit?: int) -> list[str]\n    Finds pages."
    /// ```
    fn tool_signatures<'v>(
        #[starlark(require = pos)] tools: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<String> {
        let tools = CodeTools::of("tool_signatures", tools, eval)?;
        if Context::of(eval)?.host.is_none() {
            // A script that describes code mode will probably use it: count its section as read and start a worker.
            World::of(eval)?.notes().sections_read.insert("codeMode".to_owned());
            Workers::shared().warm_up();
        }
        Ok(signatures(tools.definitions()))
    }
}

/// Starts a worker process and serves the script to its end.
fn run<'v>(
    job: ScriptJob,
    tools: &CodeTools<'v>,
    limits: &CodeMode,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Raw> {
    let context = Context::of(eval)?;
    let host = context.host_for("`run_script()`")?;
    // A request without an owner comes from the operator.
    let request = host.request().filter(|request| request.owner.is_some());
    let person = request.map(|request| Owner::of_share(&request.principal));
    let started = context.wait(|| host.wait_for(Workers::shared().start(job, limits, person.as_ref())))?;
    let run = match started {
        Ok(run) => Arc::new(run),
        Err(exit_reason) => {
            let message = exit_reason.message(limits);
            Workers::shared().count(&Err(exit_reason));
            return Ok(error_result(&message));
        }
    };
    let end = match serve(&run, "", tools, limits, eval)? {
        ServeOutcome::ScriptDone(last) => Ok(last),
        ServeOutcome::Exited(exit_reason) => Err(exit_reason),
        ServeOutcome::BranchDone => Err(ExitReason::Confused("the main script reported the end of a branch")),
    };
    Workers::shared().count(&end);
    Ok(run.result(end, limits))
}
