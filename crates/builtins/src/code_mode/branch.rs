//! A branch of `parallel()` in a code-mode script, as a Starlark function that serves the requests of that branch. It lets
//! the proxy run the branches with its own `parallel()`.
#![expect(unsafe_code, reason = "the derives for Starlark values write unsafe impls")]

use std::fmt;
use std::sync::Arc;

use allocative::Allocative;
use starlark::coerce::Coerce;
use starlark::eval::{Arguments, Evaluator};
use starlark::values::{
    Freeze, Heap, NoSerialize, ProvidesStaticType, StarlarkPagable, StarlarkPagablePanic, StarlarkValue, Trace, Value,
    ValueLifetimeless, ValueLike, starlark_value,
};
use starlark::{starlark_complex_value, starlark_simple_value};

use super::serve::{ServeOutcome, serve};
use super::tools::CodeTools;
use proxy_code_mode::sandbox::ScriptRun;
use proxy_config::CodeMode;
use proxy_script::script_error;

/// The functions for all branches of the fork at position `at`.
pub(crate) fn branches<'v>(
    run: &Arc<ScriptRun>,
    at: &str,
    count: usize,
    tools: &CodeTools<'v>,
    limits: &CodeMode,
    heap: Heap<'v>,
) -> Vec<Value<'v>> {
    let function = |number| {
        let context = BranchContext { run: Arc::clone(run), path: format!("{at}.{number}."), limits: limits.clone() };
        heap.alloc(CodeBranch { tools: tools.value(), context: heap.alloc(context) })
    };
    (0..count).map(function).collect()
}

/// What a branch needs besides its tools: its run, its path and the limits.
#[derive(ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
struct BranchContext {
    #[allocative(skip)]
    run: Arc<ScriptRun>,
    /// The path of the branch, such as `3.0.`.
    path: String,
    #[allocative(skip)]
    limits: CodeMode,
}

starlark_simple_value!(BranchContext);

impl fmt::Debug for BranchContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "BranchContext({})", self.path)
    }
}

impl fmt::Display for BranchContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.path)
    }
}

#[starlark_value(type = "branch_context")]
impl<'v> StarlarkValue<'v> for BranchContext {}

#[derive(Debug, Trace, Coerce, Freeze, ProvidesStaticType, NoSerialize, StarlarkPagable, Allocative)]
#[repr(C)]
pub struct CodeBranchGen<V: ValueLifetimeless> {
    /// The tools as they were passed to `run_script()`.
    tools: V,
    /// A [`BranchContext`].
    context: V,
}

starlark_complex_value!(pub CodeBranch);

impl<V: ValueLifetimeless> fmt::Display for CodeBranchGen<V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<branch {}>", self.context)
    }
}

#[starlark_value(type = "function")]
impl<'v, V: ValueLike<'v>> StarlarkValue<'v> for CodeBranchGen<V>
where
    Self: ProvidesStaticType<'v>,
{
    fn invoke(
        &self,
        _me: Value<'v>,
        _arguments: &Arguments<'v, '_>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let broken = || script_error("invalid branch");
        let context: &BranchContext = self.context.to_value().downcast_ref().ok_or_else(broken)?;
        let tools = CodeTools::of("run_script", self.tools.to_value(), eval)?;
        match serve(&context.run, &context.path, &tools, &context.limits, eval)? {
            ServeOutcome::BranchDone => Ok(Value::new_none()),
            ServeOutcome::Exited(exit_reason) => Err(script_error(exit_reason.message(&context.limits))),
            ServeOutcome::ScriptDone(_) => Err(broken()),
        }
    }
}
