//! A function of an evaluated script: frozen, shared between threads, and called with a fresh heap each time.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;
use starlark::environment::Module;
use starlark::eval::Evaluator;
use starlark::values::{Heap, OwnedFrozenValue, Value};

use super::call_timeout::CallTimeout;
use super::evaluator;
use crate::{Context, Failure, Host, Limits, convert};
use proxy_base::diagnostic::Diagnostic;
use proxy_json::RawRef;

/// Runs before a function, in the same run, and may return a value in its place.
pub trait Before: Send + Sync {
    /// None continues with the function.
    fn run<'v>(&self, arguments: &RawRef, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Option<Value<'v>>>;
}

#[derive(Clone)]
pub struct Function {
    /// None if there is only the `before`.
    value: Option<OwnedFrozenValue>,
    world: Arc<dyn Any + Send + Sync>,
    before: Option<Arc<dyn Before>>,
    /// How long one call may take without progress; None if there is no limit.
    timeout: Option<Duration>,
}

impl Function {
    /// A frozen callable, and the shared state of its built-ins.
    pub fn new(value: OwnedFrozenValue, world: Arc<dyn Any + Send + Sync>) -> Self {
        Function { value: Some(value), world, before: None, timeout: None }
    }

    /// A function that consists of `before` alone, and returns None where it continues.
    pub fn only(before: Arc<dyn Before>, world: Arc<dyn Any + Send + Sync>) -> Self {
        Function { value: None, world, before: Some(before), timeout: None }
    }

    /// This function with a `before`.
    pub fn after(self, before: Arc<dyn Before>) -> Self {
        Function { before: Some(before), ..self }
    }

    /// This function, one call of which may take this long without progress.
    pub fn with_timeout(self, limit: Duration) -> Self {
        Function { timeout: Some(limit), ..self }
    }

    pub fn name(&self) -> String {
        let Some(value) = self.value.as_ref().map(OwnedFrozenValue::value) else { return "nothing".to_owned() };
        value.function_name().map_or_else(|| value.to_str(), str::to_owned)
    }

    /// Calls the function on this thread with one dict argument. Returns the Starlark value as JSON (None is null).
    pub fn call(&self, arguments: &RawRef, host: Arc<Host>, limits: &Limits) -> Result<Json, Failure> {
        let Some(limit) = self.timeout else { return self.call_with([arguments], host, limits) };
        let timeout = CallTimeout::starting(limit);
        self.call_with([arguments], timeout.bound(&host), limits).map_err(|failure| timeout.explain(failure))
    }

    /// Calls the function with any number of positional arguments and without its own timeout.
    pub fn call_with<const N: usize>(
        &self,
        arguments: [&RawRef; N],
        host: Arc<Host>,
        limits: &Limits,
    ) -> Result<Json, Failure> {
        let context = Context::handler(self.world.clone(), host, limits);
        let run = || self.evaluate(arguments, &context, limits);
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| Err(Failure::panicked(payload)))
    }

    fn evaluate<const N: usize>(
        &self,
        arguments: [&RawRef; N],
        context: &Context,
        limits: &Limits,
    ) -> Result<Json, Failure> {
        Module::with_temp_heap(|module| {
            let heap = module.heap();
            let mut evaluator = Evaluator::new(&module);
            evaluator::prepare(&mut evaluator, context, limits)?;
            let failed = |error| Failure::of(&error, context, limits);
            let earlier = match (&self.before, arguments.first()) {
                (Some(before), Some(first)) => {
                    before.run(first, &mut evaluator).map_err(|error| Failure { in_hook: true, ..failed(error) })?
                }
                _ => None,
            };
            let (None, Some(callee)) = (earlier, &self.value) else {
                return self.to_json(earlier.unwrap_or_else(Value::new_none), heap);
            };
            let callee = heap.access_owned_frozen_value(callee);
            let mut values = [Value::new_none(); N];
            for (value, argument) in values.iter_mut().zip(arguments) {
                *value = convert::text_to_starlark(argument.get(), heap)
                    .map_err(|error| Diagnostic::error(format!("cannot convert the arguments to Starlark: {error}")))?;
            }
            let result = evaluator.eval_function(callee, &values, &[]).map_err(failed)?;
            self.to_json(result, heap)
        })
    }

    fn to_json<'v>(&self, result: Value<'v>, heap: Heap<'v>) -> Result<Json, Failure> {
        convert::to_json(result, heap).map_err(|error| {
            Diagnostic::error(format!("`{}` returned a value that cannot be converted to JSON: {error}", self.name()))
                .into()
        })
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Function").field(&self.name()).finish()
    }
}
