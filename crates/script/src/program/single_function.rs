//! Runs one function of a script in the script's own module, before the module is frozen. Tests run this way. Each run
//! evaluates the script again, so runs do not share state.

use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use starlark::environment::{FrozenModule, Module};
use starlark::eval::{Evaluator, ReturnFileLoader};
use starlark::syntax::AstModule;
use starlark::values::dict::AllocDict;

use crate::program::loader::Loader;
use crate::run::evaluator;
use crate::{Context, Failure, Host, Limits, Program};
use proxy_base::diagnostic::Diagnostic;

/// The contents of an evaluated script.
pub struct Found {
    /// The names of the functions that it defines, in the order of the file.
    pub functions: Vec<String>,
    /// Every file that it loaded.
    pub files: Vec<PathBuf>,
}

/// Evaluates a script and lists its functions.
pub fn look(program: &Program<'_>) -> Result<Found, Failure> {
    catching_panics(program, None)
}

/// Evaluates a script, then calls one of its functions as a handler, without arguments.
pub fn try_function(
    program: &Program<'_>,
    function: &str,
    world: Arc<dyn Any + Send + Sync>,
    host: Arc<Host>,
    limits: &Limits,
) -> Result<(), Failure> {
    let context = Context::handler(world, host, limits);
    catching_panics(program, Some(FunctionCall { function, context: &context, limits })).map(drop)
}

/// The function to call once the script has been evaluated.
#[derive(Clone, Copy)]
struct FunctionCall<'a> {
    function: &'a str,
    context: &'a Context,
    limits: &'a Limits,
}

fn catching_panics(program: &Program<'_>, call: Option<FunctionCall<'_>>) -> Result<Found, Failure> {
    let run = || {
        let mut loader = Loader::new(program);
        let (ast, modules) = loader.ready(program.source)?;
        let functions = in_module(program, ast, &modules, call)?;
        Ok(Found { functions, files: loader.files })
    };
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| Err(Failure::panicked(payload)))
}

/// Evaluates a script and then the call, with the same evaluator. Returns the names of the script's functions. The module
/// gets a dict (as its extra value) in which built-ins keep values.
fn in_module(
    program: &Program<'_>,
    ast: AstModule,
    modules: &[(String, FrozenModule)],
    call: Option<FunctionCall<'_>>,
) -> Result<Vec<String>, Failure> {
    let Program { globals, context, limits, .. } = *program;
    let known: HashMap<&str, &FrozenModule> = modules.iter().map(|(id, module)| (id.as_str(), module)).collect();
    let loader = ReturnFileLoader { modules: &known };
    Module::with_temp_heap(|module| {
        module.set_extra_value(module.heap().alloc(AllocDict::EMPTY));
        let mut evaluator = Evaluator::new(&module);
        evaluator::prepare(&mut evaluator, context, limits)?;
        evaluator.set_loader(&loader);
        evaluator.eval_module(ast, globals).map_err(|error| Failure::of(&error, context, limits))?;
        if let Some(FunctionCall { function, context, limits }) = call {
            let missing = || Diagnostic::error(format!("there is no function `{function}`"));
            let callee = module.get(function).ok_or_else(missing)?;
            evaluator::attach(&mut evaluator, context);
            evaluator.eval_function(callee, &[], &[]).map_err(|error| Failure::of(&error, context, limits))?;
        }
        let is_function = |name: &str| module.get(name).is_some_and(|value| value.get_type() == "function");
        Ok(module.names().map(|name| name.as_str().to_owned()).filter(|name| is_function(name)).collect())
    })
}
