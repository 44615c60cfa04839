//! A prompt: a module that grows line by line.

use std::panic::{AssertUnwindSafe, catch_unwind};

use starlark::environment::Module;
use starlark::eval::{Evaluator, ReturnFileLoader};
use starlark::values::dict::AllocDict;

use crate::program::loader::Loader;
use crate::run::evaluator;
use crate::{Failure, Program};

pub struct Prompt<'v, 'a> {
    module: &'a Module<'v>,
}

/// Opens a prompt. Must run on a big stack; all lines run on this thread.
pub fn converse<T>(talk: impl for<'v> FnOnce(&Prompt<'v, '_>) -> T) -> T {
    Module::with_temp_heap(|module| {
        module.set_extra_value(module.heap().alloc(AllocDict::EMPTY));
        talk(&Prompt { module: &module })
    })
}

impl Prompt<'_, '_> {
    /// Runs one statement. Returns the `repr()` of its last expression, unless that is None. A statement that fails keeps
    /// the assignments it made before the error.
    pub fn run(&self, program: &Program<'_>) -> Result<Option<String>, Failure> {
        catch_unwind(AssertUnwindSafe(|| self.evaluate(program)))
            .unwrap_or_else(|payload| Err(Failure::panicked(payload)))
    }

    fn evaluate(&self, program: &Program<'_>) -> Result<Option<String>, Failure> {
        let (ast, loaded) = Loader::new(program).ready(program.source)?;
        let modules = loaded.iter().map(|(id, module)| (id.as_str(), module)).collect();
        let loader = ReturnFileLoader { modules: &modules };
        let mut evaluator = Evaluator::new(self.module);
        evaluator::prepare(&mut evaluator, program.context, program.limits)?;
        evaluator.set_loader(&loader);
        let value = evaluator
            .eval_module(ast, program.globals)
            .map_err(|error| Failure::of(&error, program.context, program.limits))?;
        Ok((!value.is_none()).then(|| value.to_repr()))
    }

    /// The names that are defined so far.
    pub fn names(&self) -> Vec<String> {
        self.module.names().map(|name| name.as_str().to_owned()).collect()
    }
}
