//! A branch of `parallel` in a script of code mode, as a function that can be run beside others: it serves that branch.
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

use super::serve::{Outcome, serve};
use super::tools::CodeTools;
use crate::config::CodeMode;
use crate::sandbox::Run;
use crate::script::script_error;

/// The functions for all branches of a fork at that position.
pub(crate) fn branches<'v>(
    run: &Arc<Run>,
    at: &str,
    count: usize,
    tools: &CodeTools<'v>,
    limits: &CodeMode,
    heap: Heap<'v>,
) -> Vec<Value<'v>> {
    let branch = |number| {
        let which = Which { run: Arc::clone(run), line: format!("{at}.{number}."), limits: limits.clone() };
        heap.alloc(CodeBranch { tools: tools.value(), which: heap.alloc(which) })
    };
    (0..count).map(branch).collect()
}

/// What a branch needs beside its tools.
#[derive(ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
struct Which {
    #[allocative(skip)]
    run: Arc<Run>,
    line: String,
    #[allocative(skip)]
    limits: CodeMode,
}

starlark_simple_value!(Which);

impl fmt::Debug for Which {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Which({})", self.line)
    }
}

impl fmt::Display for Which {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.line)
    }
}

#[starlark_value(type = "code_line")]
impl<'v> StarlarkValue<'v> for Which {}

#[derive(Debug, Trace, Coerce, Freeze, ProvidesStaticType, NoSerialize, StarlarkPagable, Allocative)]
#[repr(C)]
pub struct CodeBranchGen<V: ValueLifetimeless> {
    /// As they were given to `run_script`.
    tools: V,
    /// A [`Which`].
    which: V,
}

starlark_complex_value!(pub CodeBranch);

impl<V: ValueLifetimeless> fmt::Display for CodeBranchGen<V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<branch {}>", self.which)
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
        let broken = || script_error("this branch is broken");
        let which: &Which = self.which.to_value().downcast_ref().ok_or_else(broken)?;
        let tools = CodeTools::of("run_script", self.tools.to_value(), eval)?;
        match serve(&which.run, &which.line, &tools, &which.limits, eval)? {
            Outcome::End => Ok(Value::new_none()),
            Outcome::Ended(ending) => Err(script_error(ending.told(&which.limits))),
            Outcome::Done(_) => Err(broken()),
        }
    }
}
