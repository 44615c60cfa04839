//! Functions of a script that run beside each other: while one waits, another goes on.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;

use starlark::environment::Module;
use starlark::eval::Evaluator;
use starlark::values::Value;

use super::journal::JournalCursor;
use super::meter::StopReason;
use super::{Context, ScriptError, Stop, evaluate, script_error};
use crate::fiber;

/// Functions that run beside each other may do the same themselves, but not without end.
const DEEPEST: usize = 8;

impl Context {
    /// Calls functions without arguments, at most `limit` at once, all to their ends. What they returned, in order, or
    /// the first error among them. If one of them has a question, the rest goes on without it, and then all of it stops.
    pub fn parallel<'v>(
        &self,
        kind: &'static str,
        evaluator: &mut Evaluator<'v, '_, '_>,
        functions: &[Value<'v>],
        limit: usize,
    ) -> starlark::Result<Vec<Value<'v>>> {
        if self.depth >= DEEPEST {
            let complaint = ScriptError::new(format!("`{kind}()` stands inside of itself more than {DEEPEST} times"));
            return Err(complaint.into());
        }
        let lines = self.branches(kind, functions.len())?;
        let contexts: Vec<Context> = lines.iter().map(|line| self.branch(line.clone())).collect();
        let outcomes: Vec<RefCell<Option<starlark::Result<Value<'v>>>>> =
            functions.iter().map(|_| RefCell::default()).collect();
        let module = evaluator.module();
        let jobs = functions.iter().zip(&contexts).zip(&outcomes).map(|((function, context), outcome)| {
            let job = || drop(outcome.replace(Some(run(module, *function, context))));
            Box::new(job) as Box<dyn FnOnce() + '_>
        });
        let jobs = jobs.collect();
        let may_go_on =
            || lines.first().is_none_or(|line| line.as_ref().is_none_or(|line| line.journal().is_replayed()));
        self.run_all(fiber::Branches::new(jobs, limit, &may_go_on))?;
        let outcomes: Vec<starlark::Result<Value<'v>>> =
            outcomes.into_iter().map(|outcome| outcome.into_inner().unwrap_or_else(never_run)).collect();
        if let Some(why) = self.meter.ended() {
            self.meter.stop(why);
            return outcomes.into_iter().collect();
        }
        self.settled(kind, &contexts, &lines)?;
        outcomes.into_iter().collect()
    }

    /// The time that the branches wait together is not the run's own.
    fn run_all(&self, mut branches: fiber::Branches<'_>) -> starlark::Result<()> {
        let mut left = None;
        let clocked = poll_fn(|context| {
            self.meter.come_back(left.take());
            let outcome = Pin::new(&mut branches).poll(context);
            if outcome.is_pending() {
                left = self.meter.leave();
            }
            outcome
        });
        fiber::wait_here(clocked)
            .map_err(|error| script_error(format!("there is no room to run functions in: {error}")))
    }

    /// What must end the run although every branch has come to its own end.
    fn settled(
        &self,
        kind: &'static str,
        contexts: &[Context],
        lines: &[Option<JournalCursor>],
    ) -> starlark::Result<()> {
        if contexts.iter().any(|context| context.why().is_some()) {
            self.meter.stop(StopReason::Stopped(Stop::Input));
            return Err(script_error(Stop::Input.as_str()));
        }
        if lines.iter().flatten().any(|line| !line.is_replayed()) {
            return Err(self.diverged(kind, "more"));
        }
        Ok(())
    }
}

fn run<'v>(module: &Module<'v>, function: Value<'v>, context: &Context) -> starlark::Result<Value<'v>> {
    let mut evaluator = Evaluator::new(module);
    // Values of the others are on stacks that the collector does not look at.
    evaluator.disable_gc();
    evaluate::prepare(&mut evaluator, context, context.meter.limits())
        .map_err(|failure| script_error(failure.message))?;
    context.meter.do_not_count_next_check();
    evaluator.eval_function(function, &[], &[])
}

fn never_run<'v>() -> starlark::Result<Value<'v>> {
    Err(script_error("one of several functions did not run"))
}
