//! Functions of a script that run concurrently: while one waits, another continues.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;

use starlark::environment::Module;
use starlark::eval::Evaluator;
use starlark::values::Value;

use super::context::Context;
use super::evaluator;
use super::meter::StopReason;
use crate::fiber;
use crate::script::journal::JournalCursor;
use crate::script::{ScriptError, Stop, script_error};

/// The maximum depth of concurrent functions that start concurrent functions.
const MAX_DEPTH: usize = 8;

impl Context {
    /// Calls functions without arguments, at most `limit` at once, and waits for all of them. Returns their values in
    /// order, or the first error. If one of them asks a question, the others continue to their ends, and then the run
    /// stops.
    pub fn parallel<'v>(
        &self,
        kind: &'static str,
        evaluator: &mut Evaluator<'v, '_, '_>,
        functions: &[Value<'v>],
        limit: usize,
    ) -> starlark::Result<Vec<Value<'v>>> {
        if self.branch_depth >= MAX_DEPTH {
            return Err(ScriptError::new(format!("`{kind}()` is nested more than {MAX_DEPTH} levels deep")).into());
        }
        let cursors = self.branch_cursors(kind, functions.len())?;
        let contexts: Vec<Context> = cursors.iter().map(|cursor| self.branch(cursor.clone())).collect();
        let outcomes: Vec<RefCell<Option<starlark::Result<Value<'v>>>>> =
            functions.iter().map(|_| RefCell::default()).collect();
        let module = evaluator.module();
        let jobs = functions.iter().zip(&contexts).zip(&outcomes).map(|((function, context), outcome)| {
            let job = || drop(outcome.replace(Some(run(module, *function, context))));
            Box::new(job) as Box<dyn FnOnce() + '_>
        });
        let jobs = jobs.collect();
        let is_replayed = || cursors.iter().flatten().next().is_none_or(|cursor| cursor.journal().is_replayed());
        self.run_all(fiber::Branches::new(jobs, limit, &is_replayed))?;
        let outcomes: Vec<starlark::Result<Value<'v>>> =
            outcomes.into_iter().map(|outcome| outcome.into_inner().unwrap_or_else(not_run)).collect();
        if let Some(reason) = self.meter.ended() {
            self.meter.stop(reason);
            return outcomes.into_iter().collect();
        }
        self.check_branches(kind, &contexts, &cursors)?;
        outcomes.into_iter().collect()
    }

    /// Polls the branches to their ends. Time in which all of them wait is not computing time of the run.
    fn run_all(&self, mut branches: fiber::Branches<'_>) -> starlark::Result<()> {
        let mut paused = None;
        let clocked = poll_fn(|context| {
            self.meter.resume(paused.take());
            let outcome = Pin::new(&mut branches).poll(context);
            if outcome.is_pending() {
                paused = self.meter.pause();
            }
            outcome
        });
        fiber::wait_here(clocked).map_err(|error| script_error(format!("cannot allocate a stack: {error}")))
    }

    /// Stops the run if a branch has asked a question or has not replayed all its records.
    fn check_branches(
        &self,
        kind: &'static str,
        contexts: &[Context],
        cursors: &[Option<JournalCursor>],
    ) -> starlark::Result<()> {
        if contexts.iter().any(|context| context.stop_reason().is_some()) {
            self.meter.stop(StopReason::Stopped(Stop::Input));
            return Err(script_error(Stop::Input.as_str()));
        }
        if cursors.iter().flatten().any(|cursor| !cursor.is_replayed()) {
            return Err(self.diverged(kind, "more"));
        }
        Ok(())
    }
}

fn run<'v>(module: &Module<'v>, function: Value<'v>, context: &Context) -> starlark::Result<Value<'v>> {
    let mut evaluator = Evaluator::new(module);
    // The collector does not see the values on the stacks of the other branches.
    evaluator.disable_gc();
    evaluator::prepare(&mut evaluator, context, context.meter.limits())
        .map_err(|failure| script_error(failure.message))?;
    context.meter.do_not_count_next_check();
    evaluator.eval_function(function, &[], &[])
}

fn not_run<'v>() -> starlark::Result<Value<'v>> {
    Err(script_error("one of several functions did not run"))
}
