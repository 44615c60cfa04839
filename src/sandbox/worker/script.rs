//! Runs one script from its text to its last word.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use starlark::environment::{Globals, Module};
use starlark::eval::Evaluator;

use super::functions::{Board, Tool};
use super::link::Link;
use super::wrapped::{FUNCTION, LINES_ADDED, wrapped};
use crate::diagnostic::Diagnostic;
use crate::json::Raw;
use crate::sandbox::ending::Exit;
use crate::sandbox::message::{Fault, Job, ScriptResult};
use crate::script::{Context, Failure, Limits, Source, convert, parse, prepare};

/// Time is kept by the parent and memory by the allocator; steps are the job's own.
pub(super) const LIMITS: Limits = Limits { steps: u64::MAX, time: Duration::MAX, memory: usize::MAX, stack: 200 };

pub(super) fn run(job: &Job, globals: &Globals, link: &Arc<Link>) -> ScriptResult {
    link.limit_output(job.output);
    let outcome =
        catch_unwind(AssertUnwindSafe(|| evaluate(job, globals, link))).unwrap_or_else(|payload| Err(broken(payload)));
    outcome.map_err(fault)
}

/// The engine breaks down over values too large for it: that is a limit as any other.
fn broken(payload: Box<dyn std::any::Any + Send>) -> Failure {
    let failure = Failure::panicked(payload);
    if failure.is_about_size() {
        Exit::Memory.now();
    }
    failure
}

/// Runs a line of script, so that the first real one finds everything in place.
pub(super) fn warm_up(globals: &Globals) {
    let job = Job {
        source: "return [json.encode({'a': [x + 1]}) for x in [1.5]]".to_owned(),
        data: crate::json::RawRef::NULL.to_owned(),
        functions: Vec::new(),
        steps: 1_000_000,
        memory: 0,
        output: 1000,
        branches: 1,
    };
    // It asks nothing, and what comes of it is known.
    let _ = Link::to_nobody().map(|link| run(&job, globals, &Arc::new(link)));
}

fn evaluate(job: &Job, globals: &Globals, link: &Arc<Link>) -> Result<Raw, Failure> {
    let text = wrapped(&job.source).ok_or_else(|| {
        Failure::from(Diagnostic::error("the script is empty").hint("end it with `return` and what you want to know"))
    })?;
    let tree = parse(&Source::new("script", text))?;
    let limits = Limits { steps: job.steps, ..LIMITS };
    let board = Board { link: Arc::clone(link), branches: job.branches, forked: AtomicUsize::new(0) };
    let context = Context::top(Arc::new(board), &limits);
    Module::with_temp_heap(|module| {
        let heap = module.heap();
        let data = convert::text_to_starlark(job.data.get(), heap)
            .map_err(|error| Diagnostic::error(format!("`data` cannot be given to a script: {error}")))?;
        module.set("data", data);
        for function in &job.functions {
            module.set(&function.identifier, heap.alloc(Tool { name: function.tool.clone() }));
        }
        let failed = |error: starlark::Error| Failure::of(&error, &context, &limits);
        let mut evaluator = Evaluator::new(&module);
        evaluator.disable_gc();
        prepare(&mut evaluator, &context, &limits)?;
        evaluator.eval_module(tree, globals).map_err(failed)?;
        let main = module.get(FUNCTION).ok_or_else(|| Diagnostic::error("the script redefines itself"))?;
        let returned = evaluator.eval_function(main, &[], &[]).map_err(failed)?;
        let json = convert::to_json(returned, heap)
            .map_err(|error| Diagnostic::error(format!("what the script returned cannot become JSON: {error}")))?;
        Ok(crate::json::raw(&json))
    })
}

/// What the author of the script is told: lines are counted in what they wrote.
fn fault(failure: Failure) -> Fault {
    let line = failure.diagnostic.place.as_ref().map(|place| place.line().saturating_sub(LINES_ADDED).max(1));
    Fault { message: failure.message, line, hint: failure.diagnostic.hint }
}
