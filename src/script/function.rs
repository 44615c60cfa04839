//! A function of a script that has run: frozen, shared between threads, called in a heap of its own each time.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::Value as Json;
use starlark::environment::Module;
use starlark::eval::Evaluator;
use starlark::values::OwnedFrozenValue;

use super::{Context, Failure, Host, Limits, convert};
use crate::diagnostic::Diagnostic;
use crate::json::RawRef;

#[derive(Clone)]
pub struct Function {
    value: OwnedFrozenValue,
    world: Arc<dyn Any + Send + Sync>,
}

impl Function {
    /// A frozen callable, and what its built-ins share.
    pub fn new(value: OwnedFrozenValue, world: Arc<dyn Any + Send + Sync>) -> Self {
        Function { value, world }
    }

    pub fn name(&self) -> String {
        match self.value.value().function_name() {
            Some(name) => name.to_owned(),
            None => self.value.value().to_str(),
        }
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
            let callee = heap.access_owned_frozen_value(&self.value);
            let argument = convert::text_to_starlark(arguments.get(), heap)
                .map_err(|error| Diagnostic::error(format!("the arguments cannot be given to a script: {error}")))?;
            let mut evaluator = Evaluator::new(&module);
            super::evaluate::prepare(&mut evaluator, context, limits)?;
            let result = evaluator
                .eval_function(callee, &[argument], &[])
                .map_err(|error| Failure::of(&error, context, limits))?;
            convert::to_json(result, heap).map_err(|error| {
                Diagnostic::error(format!("`{}` returned what cannot become JSON: {error}", self.name())).into()
            })
        })
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Function").field(&self.name()).finish()
    }
}
