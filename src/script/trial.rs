//! A function of a script run in the script's own module, before anything in it is frozen: what a test is. Each run
//! begins with the text again, so that none sees what another left behind.

use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use starlark::environment::{FrozenModule, Module};
use starlark::eval::{Evaluator, ReturnFileLoader};
use starlark::syntax::AstModule;
use starlark::values::dict::AllocDict;

use super::loader::Loader;
use super::{Context, Failure, Host, Limits, Program, evaluate};
use crate::diagnostic::Diagnostic;

/// What is found in a script once it has run.
pub struct Found {
    /// The names of its functions, in the order of the file, without those that it loads.
    pub functions: Vec<String>,
    /// Every file it loaded.
    pub files: Vec<PathBuf>,
}

/// Runs a script at its top level and looks what there is.
pub fn look(program: &Program<'_>) -> Result<Found, Failure> {
    guarded(program, None)
}

/// Runs a script at its top level, and then one function of it as a handler runs, without arguments.
pub fn try_function(
    program: &Program<'_>,
    function: &str,
    world: Arc<dyn Any + Send + Sync>,
    host: Arc<dyn Host>,
    limits: &Limits,
) -> Result<(), Failure> {
    let context = Context::handler(world, host, limits);
    guarded(program, Some(Call { function, context: &context, limits })).map(drop)
}

/// What is to be called once the script has run.
#[derive(Clone, Copy)]
struct Call<'a> {
    function: &'a str,
    context: &'a Context,
    limits: &'a Limits,
}

fn guarded(program: &Program<'_>, call: Option<Call<'_>>) -> Result<Found, Failure> {
    let run = || {
        let mut loader = Loader::new(program);
        let (ast, modules) = loader.ready(program.source)?;
        let functions = in_module(program, ast, &modules, call)?;
        Ok(Found { functions, files: loader.files })
    };
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| Err(Failure::panicked(payload)))
}

/// Evaluates a script and then, with the same evaluator, the call; the names of its functions. The module carries a dict
/// (its extra value) in which built-ins keep values.
fn in_module(
    program: &Program<'_>,
    ast: AstModule,
    modules: &[(String, FrozenModule)],
    call: Option<Call<'_>>,
) -> Result<Vec<String>, Failure> {
    let Program { globals, context, limits, .. } = *program;
    let known: HashMap<&str, &FrozenModule> = modules.iter().map(|(id, module)| (id.as_str(), module)).collect();
    let loader = ReturnFileLoader { modules: &known };
    Module::with_temp_heap(|module| {
        module.set_extra_value(module.heap().alloc(AllocDict::EMPTY));
        let mut evaluator = Evaluator::new(&module);
        evaluate::prepare(&mut evaluator, context, limits)?;
        evaluator.set_loader(&loader);
        evaluator.eval_module(ast, globals).map_err(|error| Failure::of(&error, context, limits))?;
        if let Some(Call { function, context, limits }) = call {
            let missing = || Diagnostic::error(format!("there is no function `{function}`"));
            let callee = module.get(function).ok_or_else(missing)?;
            evaluate::watch(&mut evaluator, context);
            evaluator.eval_function(callee, &[], &[]).map_err(|error| Failure::of(&error, context, limits))?;
        }
        let is_function = |name: &str| module.get(name).is_some_and(|value| value.get_type() == "function");
        Ok(module.names().map(|name| name.as_str().to_owned()).filter(|name| is_function(name)).collect())
    })
}
