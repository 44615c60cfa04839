//! A function of a script that has run: frozen, shared between threads, called in a heap of its own each time.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::Value as Json;
use starlark::environment::Module;
use starlark::eval::Evaluator;
use starlark::values::{Heap, OwnedFrozenValue, Value};

use super::{Context, Failure, Host, Limits, convert};
use crate::diagnostic::Diagnostic;
use crate::json::RawRef;

/// What runs before a function, in the same run, and may answer in its place.
pub trait Before: Send + Sync {
    /// None goes on.
    fn run<'v>(&self, arguments: &RawRef, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Option<Value<'v>>>;
}

#[derive(Clone)]
pub struct Function {
    /// None if all is done by what runs before.
    value: Option<OwnedFrozenValue>,
    world: Arc<dyn Any + Send + Sync>,
    before: Option<Arc<dyn Before>>,
}

impl Function {
    /// A frozen callable, and what its built-ins share.
    pub fn new(value: OwnedFrozenValue, world: Arc<dyn Any + Send + Sync>) -> Self {
        Function { value: Some(value), world, before: None }
    }

    /// Nothing but what would run before: None where that goes on.
    pub fn only(before: Arc<dyn Before>, world: Arc<dyn Any + Send + Sync>) -> Self {
        Function { value: None, world, before: Some(before) }
    }

    /// The same behind something that may answer in its place.
    pub fn after(self, before: Arc<dyn Before>) -> Self {
        Function { before: Some(before), ..self }
    }

    pub fn name(&self) -> String {
        let Some(value) = self.value.as_ref().map(OwnedFrozenValue::value) else { return "nothing".to_owned() };
        value.function_name().map_or_else(|| value.to_str(), str::to_owned)
    }

    /// Runs it on this thread in a fresh heap with one dict argument; the returned Starlark value as JSON (None is null).
    pub fn call(&self, arguments: &RawRef, host: Arc<dyn Host>, limits: &Limits) -> Result<Json, Failure> {
        let context = Context::handler(self.world.clone(), host, limits);
        let run = || self.run(arguments, &context, limits);
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| Err(Failure::panicked(payload)))
    }

    fn run(&self, arguments: &RawRef, context: &Context, limits: &Limits) -> Result<Json, Failure> {
        Module::with_temp_heap(|module| {
            let heap = module.heap();
            let mut evaluator = Evaluator::new(&module);
            super::evaluate::prepare(&mut evaluator, context, limits)?;
            let failed = |error| Failure::of(&error, context, limits);
            let earlier = match &self.before {
                Some(before) => before.run(arguments, &mut evaluator).map_err(failed)?,
                None => None,
            };
            let (None, Some(callee)) = (earlier, &self.value) else {
                return self.returned(earlier.unwrap_or_else(Value::new_none), heap);
            };
            let callee = heap.access_owned_frozen_value(callee);
            let argument = convert::text_to_starlark(arguments.get(), heap)
                .map_err(|error| Diagnostic::error(format!("the arguments cannot be given to a script: {error}")))?;
            let result = evaluator.eval_function(callee, &[argument], &[]).map_err(failed)?;
            self.returned(result, heap)
        })
    }

    fn returned<'v>(&self, result: Value<'v>, heap: Heap<'v>) -> Result<Json, Failure> {
        convert::to_json(result, heap).map_err(|error| {
            Diagnostic::error(format!("`{}` returned what cannot become JSON: {error}", self.name())).into()
        })
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Function").field(&self.name()).finish()
    }
}
