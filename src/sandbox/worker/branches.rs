//! `parallel`: branches of one script on one thread, each with a stack of its own, so that one which waits for a tool
//! lets the others go on.

use std::cell::Cell;
use std::rc::Rc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use starlark::eval::Evaluator;
use starlark::values::Value;

use super::line::Line;
use super::link::Link;
use super::script::LIMITS;
use crate::sandbox::message::{ToParent, WorkerRequest};
use crate::script::{Context, ScriptError, prepare};

/// Comparing deep values recurses natively; only touched pages cost.
const STACK: usize = 4 << 20;

thread_local! {
    /// The way out of the branch that runs; null outside of any.
    static CURRENT: Cell<*const Yielder<(), ()>> = const { Cell::new(std::ptr::null()) };
}

/// Goes back to whoever runs this branch; false if this is none.
#[expect(unsafe_code, reason = "a branch finds its own way out through a pointer kept for it")]
pub(super) fn suspend() -> bool {
    let yielder = CURRENT.get();
    if yielder.is_null() {
        return false;
    }
    // SAFETY: it was set by the branch that is running, on whose stack we are, and is valid until that returns;
    // `Branch::resume` puts back what was there before whenever it changes hands.
    unsafe { (*yielder).suspend(()) };
    true
}

type Outcome<'v> = starlark::Result<Value<'v>>;

struct Branch<'v> {
    coroutine: Coroutine<(), (), Outcome<'v>, DefaultStack>,
    /// Its way out, known once it has begun.
    yielder: Rc<Cell<*const Yielder<(), ()>>>,
    line: Rc<Line>,
    place: usize,
}

impl<'v> Branch<'v> {
    #[expect(unsafe_code, reason = "a branch borrows from its caller, which outlives it")]
    fn new(callable: Value<'v>, place: usize, line: Line, eval: &Evaluator<'v, '_, '_>) -> starlark::Result<Self> {
        let (module, context) = (eval.module(), Context::of(eval)?);
        let stack = DefaultStack::new(STACK).map_err(|_| {
            ScriptError::new("there is no memory for so many branches at once").hint("give `parallel` fewer at a time")
        })?;
        let yielder = Rc::new(Cell::new(std::ptr::null()));
        let own = Rc::clone(&yielder);
        let run = move |yielder: &Yielder<(), ()>, ()| -> Outcome<'v> {
            own.set(std::ptr::from_ref(yielder));
            CURRENT.set(own.get());
            let mut evaluator = Evaluator::new(module);
            // The values of all branches lie on one heap, and none knows what the others hold.
            evaluator.disable_gc();
            prepare(&mut evaluator, context, &LIMITS).map_err(|failure| ScriptError::new(failure.message))?;
            context.invoke(&mut evaluator, callable, &[], &[])
        };
        // SAFETY: module, context and heap outlive the branch: `run` drops every branch before it returns, and dropping
        // one that has not ended unwinds its stack.
        let coroutine = unsafe { Coroutine::with_stack_unchecked(stack, run) };
        Ok(Branch { coroutine, yielder, line: Rc::new(line), place })
    }

    /// Runs it until it waits; its outcome if it has ended.
    fn resume(&mut self) -> Option<Outcome<'v>> {
        let before = CURRENT.replace(self.yielder.get());
        let outcome = Line::on(&self.line, || self.coroutine.resume(()));
        CURRENT.set(before);
        match outcome {
            CoroutineResult::Yield(()) => None,
            CoroutineResult::Return(outcome) => Some(outcome),
        }
    }
}

/// The results in the order of the callables; the first error of that order when all have ended.
pub(super) fn run<'v>(
    callables: &[Value<'v>],
    at_once: usize,
    link: &Link,
    eval: &Evaluator<'v, '_, '_>,
) -> starlark::Result<Vec<Value<'v>>> {
    let position = Line::position();
    let want = WorkerRequest::Fork { count: callables.len(), limit: at_once };
    link.send(&ToParent::WorkerRequest { at: position.clone(), want });
    let mut outcomes: Vec<Option<Outcome<'v>>> = callables.iter().map(|_| None).collect();
    let mut coming = callables.iter().enumerate();
    let mut live: Vec<Branch<'v>> = Vec::new();
    loop {
        for (place, callable) in coming.by_ref().take(at_once.saturating_sub(live.len())) {
            live.push(Branch::new(*callable, place, Line::branch(&position, place), eval)?);
        }
        if live.is_empty() {
            break;
        }
        let before = live.len();
        live.retain_mut(|branch| {
            let outcome = branch.resume();
            let goes_on = outcome.is_none();
            if !goes_on {
                link.send(&ToParent::End { line: branch.line.prefix().to_owned() });
            }
            outcomes[branch.place] = outcome;
            goes_on
        });
        // Where none has ended all of them wait.
        if live.len() == before {
            link.pause();
        }
    }
    outcomes.into_iter().flatten().collect()
}
