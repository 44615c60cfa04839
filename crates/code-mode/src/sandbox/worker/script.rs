//! Runs one script, from its source to its result.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use starlark::environment::{Globals, Module};
use starlark::eval::Evaluator;

use super::channel::ParentChannel;
use super::functions::ToolValue;
use super::world::BranchWorld;
use super::wrap::{FUNCTION, LINES_ADDED, wrap};
use crate::sandbox::protocol::{ScriptFailure, ScriptJob, ScriptResult, WorkerExit};
use proxy_base::diagnostic::Diagnostic;
use proxy_json::Raw;
use proxy_script::{Context, Failure, Limits, Source, convert, parse, prepare};

/// The limits of the engine beside the job's steps: the proxy limits the time, and the allocator the memory.
const LIMITS: Limits = Limits { steps: u64::MAX, time: Duration::MAX, memory: usize::MAX, stack: 200 };

/// What a script has instead of files.
const BUILT_IN: &str = "`json`, `re`, `math` and `time` are built in";

pub(super) fn run(job: &ScriptJob, globals: &Globals, parent: &Arc<ParentChannel>) -> ScriptResult {
    parent.limit_output(job.output_limit);
    let outcome = catch_unwind(AssertUnwindSafe(|| evaluate(job, globals, parent)))
        .unwrap_or_else(|payload| Err(engine_panic(payload)));
    outcome.map_err(script_failure)
}

/// The error for a panic of the engine. It panics over values that are too large for it, which counts as the memory limit.
fn engine_panic(payload: Box<dyn std::any::Any + Send>) -> Failure {
    let failure = Failure::panicked(payload);
    if failure.is_about_size() {
        WorkerExit::Memory.now();
    }
    failure
}

/// Runs a short script, so that the first real one finds lazily initialized statics and the allocator's pages in place.
pub(super) fn warm_up(globals: &Globals) {
    let job = ScriptJob {
        source: "return [json.encode({'a': [x + 1]}) for x in [1.5]]".to_owned(),
        data: proxy_json::RawRef::NULL.to_owned(),
        functions: Vec::new(),
        step_limit: 1_000_000,
        memory_limit: 0,
        output_limit: 1000,
        max_concurrent_branches: 1,
        require_jail: false,
    };
    // The script sends nothing, and its result is not needed.
    let _ = ParentChannel::disconnected().map(|parent| run(&job, globals, &Arc::new(parent)));
}

fn evaluate(job: &ScriptJob, globals: &Globals, parent: &Arc<ParentChannel>) -> Result<Raw, Failure> {
    let text = wrap(&job.source).ok_or_else(|| {
        Failure::from(Diagnostic::error("the script is empty").hint("end it with `return` and the value you need"))
    })?;
    let tree = parse(&Source::new("script", text))?;
    let limits = Limits { steps: job.step_limit, ..LIMITS };
    let world = BranchWorld::new(Arc::clone(parent), job.max_concurrent_branches);
    let context = Context::top(Arc::new(world), &limits);
    Module::with_temp_heap(|module| {
        let heap = module.heap();
        let data = convert::text_to_starlark(job.data.get(), heap)
            .map_err(|error| Diagnostic::error(format!("`data` cannot be converted to Starlark: {error}")))?;
        module.set("data", data);
        for function in &job.functions {
            module.set(&function.identifier, heap.alloc(ToolValue { name: function.tool.clone() }));
        }
        let failed = |error: starlark::Error| Failure::of(&error, &context, &limits);
        let mut evaluator = Evaluator::new(&module);
        evaluator.disable_gc();
        prepare(&mut evaluator, &context, &limits)?;
        evaluator.eval_module(tree, globals).map_err(failed)?;
        let main = module
            .get(FUNCTION)
            .ok_or_else(|| Diagnostic::error(format!("the script must not redefine `{FUNCTION}`")))?;
        let returned = evaluator.eval_function(main, &[], &[]).map_err(failed)?;
        let json = convert::to_json(returned, heap).map_err(|error| {
            Diagnostic::error(format!("the script's return value cannot be converted to JSON: {error}"))
        })?;
        Ok(proxy_json::raw(&json))
    })
}

/// The error as the script's author sees it: lines count from the start of the script.
fn script_failure(failure: Failure) -> ScriptFailure {
    let line = failure.diagnostic.place.as_ref().map(|place| place.line().saturating_sub(LINES_ADDED).max(1));
    // The engine speaks to authors of files, which can load others.
    if failure.message.contains("`load` must only occur at the top of a module") {
        let message = "`load` is not available: a script of code mode cannot load files".to_owned();
        return ScriptFailure {
            message,
            line,
            hint: Some(format!("{BUILT_IN}; define your own functions in the script")),
        };
    }
    let mut hint = failure.diagnostic.hint;
    if hint.as_ref().is_some_and(|hint| hint.contains("loads from a file")) {
        hint = Some(format!("Starlark has no imports; {BUILT_IN}"));
    }
    ScriptFailure { message: failure.message, line, hint }
}
