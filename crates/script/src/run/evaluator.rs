//! An evaluator of the engine, attached to a run.

use starlark::codemap::FileSpanRef;
use starlark::environment::{FrozenModule, Module};
use starlark::eval::{BeforeStmtFunc, BeforeStmtFuncDyn, Evaluator};

use super::context::Context;
use crate::Failure;
use crate::errors::report;
use crate::guards::depth;
use crate::limits::Limits;
use proxy_base::diagnostic::Diagnostic;

/// Attaches an evaluator to a run, whose limits then stop it.
pub fn prepare<'a>(
    evaluator: &mut Evaluator<'_, 'a, '_>,
    context: &'a Context,
    limits: &Limits,
) -> Result<(), Failure> {
    attach(evaluator, context);
    // Where the allocator has a limit of its own, as in a sandbox, there is nothing to check.
    if limits.memory < usize::MAX {
        evaluator.before_stmt_for_dap(BeforeStmtFunc::from_dyn(Box::new(MemoryCheck)));
    }
    evaluator.set_max_callstack_size(limits.stack).map_err(|error| Diagnostic::error(error.to_string()).into())
}

/// Attaches an evaluator to a run, without changing the limit of its call stack.
pub(crate) fn attach<'a>(evaluator: &mut Evaluator<'_, 'a, '_>, context: &'a Context) {
    evaluator.extra = Some(context);
    let module = evaluator.module();
    let memory = move || module.heap().allocated_bytes() + module.frozen_heap().allocated_bytes();
    evaluator.set_check_cancelled(Box::new(move || context.must_stop(memory())));
}

/// Checks the memory of a run before each statement and after each call.
struct MemoryCheck;

impl<'e> BeforeStmtFuncDyn<'e> for MemoryCheck {
    fn call<'v>(&mut self, _: FileSpanRef, _: bool, evaluator: &mut Evaluator<'v, '_, 'e>) -> starlark::Result<()> {
        Context::of(evaluator)?.require_memory(0)
    }
}

/// Freezes a module. Values that are nested too deeply are an error.
pub(crate) fn freeze(module: Module<'_>) -> Result<FrozenModule, Failure> {
    if let Some(name) = depth::too_deep(&module) {
        return Err(Diagnostic::error(depth::message(&name)).into());
    }
    module.freeze().map_err(|error| {
        let reason = report::message(&starlark::Error::from(error));
        Diagnostic::error(format!("a script value cannot be kept: {reason}")).into()
    })
}
