//! Functions of a script that run concurrently: while one waits, another continues. Handlers and sandboxed scripts share
//! this implementation of `parallel`.

use std::any::Any;
use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;

use starlark::environment::Module;
use starlark::eval::Evaluator;
use starlark::values::Value;

use super::context::Context;
use super::evaluator;
use super::meter::StopReason;
use crate::journal::JournalCursor;
use crate::{ScriptError, Stop, script_error};
use proxy_fiber as fiber;

/// How deep calls of `parallel` may nest.
const MAX_NESTING: usize = 8;

/// How [`Context::parallel_in_worlds`] runs its branches.
pub struct BranchOptions<'a> {
    /// How many branches run at once.
    pub limit: usize,
    /// The stack of each branch, in bytes.
    pub stack_size: usize,
    /// Called with the index of each branch that has ended, before the next one starts.
    pub ended: &'a dyn Fn(usize),
}

/// Functions to call, each in a context of its own.
struct BranchSet<'a, 'v> {
    kind: &'static str,
    functions: &'a [Value<'v>],
    contexts: &'a [Context],
    options: BranchOptions<'a>,
    /// Whether branches that wait for their siblings may continue.
    may_go_on: &'a dyn Fn() -> bool,
}

impl Context {
    /// Calls functions without arguments, at most `limit` at once, each to its end. Returns their results in order, or
    /// the first error in that order. If one of them asks a question, the others run to their ends, and then the whole
    /// run stops.
    pub fn parallel<'v>(
        &self,
        kind: &'static str,
        evaluator: &mut Evaluator<'v, '_, '_>,
        functions: &[Value<'v>],
        limit: usize,
    ) -> starlark::Result<Vec<Value<'v>>> {
        self.check_nesting(kind)?;
        let lines = self.branch_cursors(kind, functions.len())?;
        let contexts: Vec<Context> = lines.iter().map(|line| self.branch(line.clone())).collect();
        let may_go_on =
            || lines.first().is_none_or(|line| line.as_ref().is_none_or(|line| line.journal().is_replayed()));
        let options = BranchOptions { limit, stack_size: fiber::HANDLER_STACK, ended: &|_| {} };
        let set = BranchSet { kind, functions, contexts: &contexts, options, may_go_on: &may_go_on };
        let outcomes = self.run_branches(&set, evaluator.module())?;
        if self.meter.ended().is_none() {
            self.check_settled(kind, &contexts, &lines)?;
        }
        outcomes.into_iter().collect()
    }

    /// Calls functions without arguments, each to its end and each in a world of its own. Nothing is journaled. Returns
    /// their results in order, or the first error in that order. The caller has called [`Context::check_nesting`].
    pub fn parallel_in_worlds<'v>(
        &self,
        kind: &'static str,
        evaluator: &mut Evaluator<'v, '_, '_>,
        calls: impl Iterator<Item = (Value<'v>, Arc<dyn Any + Send + Sync>)>,
        options: BranchOptions<'_>,
    ) -> starlark::Result<Vec<Value<'v>>> {
        let (functions, contexts): (Vec<Value<'v>>, Vec<Context>) = calls
            .map(|(function, world)| {
                let mut context = self.branch(None);
                context.world = world;
                (function, context)
            })
            .unzip();
        let set = BranchSet { kind, functions: &functions, contexts: &contexts, options, may_go_on: &|| true };
        self.run_branches(&set, evaluator.module())?.into_iter().collect()
    }

    /// Fails if branches of this context would be nested too deeply.
    pub fn check_nesting(&self, kind: &'static str) -> Result<(), ScriptError> {
        if self.branch_depth < MAX_NESTING {
            return Ok(());
        }
        Err(ScriptError::new(format!("`{kind}()` is nested more than {MAX_NESTING} levels deep")))
    }

    /// Runs all branches to their ends; their outcomes in order. If the run must stop, this context has reported it.
    fn run_branches<'v>(
        &self,
        set: &BranchSet<'_, 'v>,
        module: &Module<'v>,
    ) -> starlark::Result<Vec<starlark::Result<Value<'v>>>> {
        let outcomes: Vec<RefCell<Option<starlark::Result<Value<'v>>>>> =
            set.functions.iter().map(|_| RefCell::default()).collect();
        let jobs = set.functions.iter().zip(set.contexts).zip(&outcomes).enumerate();
        let jobs = jobs.map(|(index, ((function, context), outcome))| {
            let job = move || {
                outcome.replace(Some(call(module, *function, context)));
                (set.options.ended)(index);
            };
            Box::new(job) as Box<dyn FnOnce() + '_>
        });
        let branches = fiber::Branches::new(jobs.collect(), set.options.limit, set.may_go_on)
            .with_stack_size(set.options.stack_size);
        self.wait_for_branches(branches).map_err(|error| {
            ScriptError::new(format!("cannot allocate a stack for a branch of `{}()`: {error}", set.kind))
                .hint("run fewer branches at once")
        })?;
        if let Some(why) = self.meter.ended() {
            self.meter.stop(why);
        }
        let missing = || Err(script_error(format!("a branch of `{}()` did not run", set.kind)));
        Ok(outcomes.into_iter().map(|outcome| outcome.into_inner().unwrap_or_else(missing)).collect())
    }

    /// Waits for all branches. The time during which every branch waits does not count as computing time of the run.
    fn wait_for_branches(&self, mut branches: fiber::Branches<'_>) -> std::io::Result<()> {
        let mut paused = None;
        fiber::wait_here(poll_fn(|context| {
            self.meter.resume(paused.take());
            let outcome = Pin::new(&mut branches).poll(context);
            if outcome.is_pending() {
                paused = self.meter.pause();
            }
            outcome
        }))
    }

    /// Fails if the run must stop although every branch has come to its own end.
    fn check_settled(
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

/// Calls a function on an evaluator of its own.
fn call<'v>(module: &Module<'v>, function: Value<'v>, context: &Context) -> starlark::Result<Value<'v>> {
    // The buffers of an evaluator are not values of the script: hundreds of branches that wait would use up its memory.
    let mut evaluator = context.meter.outside(|| Evaluator::new(module));
    // All branches share one heap, and the collector does not see the values on the stacks of the others.
    evaluator.disable_gc();
    evaluator::prepare(&mut evaluator, context, context.meter.limits())
        .map_err(|failure| script_error(failure.message))?;
    context.meter.do_not_count_next_check();
    let outcome = evaluator.eval_function(function, &[], &[]);
    context.meter.outside(|| drop(evaluator));
    outcome
}
