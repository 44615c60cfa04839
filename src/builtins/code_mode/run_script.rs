//! `run_script()`: code mode. A script that a model wrote runs in a process of its own; each tool it calls is called here,
//! as if the client had named it.

use std::sync::Arc;

use serde_json::json;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;

use super::serve::{Outcome, serve};
use super::tools::CodeTools;
use crate::builtins::session::World;
use crate::config::CodeMode;
use crate::json::Raw;
use crate::model::error_result;
use crate::sandbox::{ExitReason, Job, Workers};
use crate::script::{Context, convert, script_error};
use crate::typings::signatures;

#[starlark_module]
pub fn register_run_script(builder: &mut GlobalsBuilder) {
    /// Runs Starlark that somebody else wrote, such as a model, over the given tools (a search index or a list of
    /// `(metadata, handler)` tuples), and gives the result of a tool: what the script returned as `result` in its
    /// `structuredContent`, with `printed` beside it if it printed something; or an error result.
    ///
    /// The script calls tools as functions with named arguments (letters that no identifier has become `_`), or with
    /// `call_tool(name, args)`; it finds what they return without its wrapping. It knows `data`, `parallel`, `attempt`,
    /// `search_tools`, `print` and the pure built-ins, and nothing else. It runs in a process of its own within the limits
    /// of `codeMode` in the config. Each call is made as by `index.call`. Only while a call is handled.
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
                .map_err(|error| script_error(format!("`data` cannot be given to a script: {error}")))?,
            None => json!({}),
        };
        let limits = World::of(eval)?.settings.code_mode.clone();
        let job = Job::new(source, &data, tools.definitions(), &limits);
        let request = [source, &data.to_string()];
        let result = context.nested_function("run_script", &request, eval, |eval| run(job, &tools, &limits, eval))?;
        Ok(convert::text_to_starlark(result.get(), eval.heap())?)
    }

    /// What scripts of `run_script` can call, one line for each of the given tools (a search index or a list of
    /// `(metadata, handler)` tuples): its typed signature, and under it the first sentence of its description. For the
    /// description of a tool that takes such scripts.
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
            // Whoever describes scripts will run them.
            World::of(eval)?.notes().sections_read.insert("codeMode".to_owned());
            Workers::shared().warm_up();
        }
        Ok(signatures(tools.definitions()))
    }
}

fn run<'v>(
    job: Job,
    tools: &CodeTools<'v>,
    limits: &CodeMode,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Raw> {
    let context = Context::of(eval)?;
    let host = context.host_for("`run_script()`")?;
    let owner = host.request().and_then(|request| request.owner.as_ref());
    let started = context.wait(|| host.wait_for(Workers::shared().start(job, limits, owner)))?;
    let run = match started {
        Ok(run) => Arc::new(run),
        Err(ending) => return Ok(error_result(&ending.told(limits))),
    };
    let end = match serve(&run, "", tools, limits, eval)? {
        Outcome::Done(last) => Ok(last),
        Outcome::Ended(ending) => Err(ending),
        Outcome::End => Err(ExitReason::Confused("it came to an end of nothing")),
    };
    Ok(run.result(end, limits))
}
