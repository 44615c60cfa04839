//! Evaluates a script and freezes its module.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use sha2::Digest;
use starlark::environment::{FrozenModule, Globals, Module};
use starlark::eval::Evaluator;
use starlark::values::OwnedFrozenValue;

use crate::program::loader::Loader;
use crate::run::evaluator::{freeze, prepare};
use crate::{Context, Embedded, Failure, Limits, Paths, Source};
use proxy_base::diagnostic::Diagnostic;

/// The stack size for parsing and freezing, which recurse. It suffices for everything that the guards let through. Only
/// touched pages use memory.
pub const BIG_STACK: usize = 64 << 20;

/// A script and everything that it is evaluated with.
#[derive(Clone, Copy)]
pub struct Program<'a> {
    pub source: &'a Source,
    pub globals: &'a Globals,
    pub context: &'a Context,
    pub limits: &'a Limits,
    /// The folder that `load("//...")` starts from. Without one, only embedded files can be loaded.
    pub root: Option<&'a Path>,
    pub embedded: &'a [Embedded],
    pub paths: Paths,
    /// Whether the module gets a dict (as its extra value) in which built-ins collect values.
    pub collects: bool,
}

/// The result of evaluating a script.
pub struct Evaluated {
    pub module: FrozenModule,
    /// Every file that it loaded.
    pub files: Vec<PathBuf>,
    /// SHA-256 of its text and of the files that it loaded, in hexadecimal.
    pub digest: String,
    /// The names that it and its own files use, without those of embedded files.
    pub names: HashSet<String>,
}

/// Evaluates a script. Must run on a big stack; see [`on_big_stack`].
pub fn evaluate(program: &Program<'_>) -> Result<Evaluated, Failure> {
    let mut loader = Loader::new(program);
    let module =
        catch_unwind(AssertUnwindSafe(|| loader.main())).unwrap_or_else(|payload| Err(Failure::panicked(payload)))?;
    let digest = proxy_json::hex(&loader.digest.finalize());
    Ok(Evaluated { module, files: loader.files, digest, names: loader.names })
}

/// Calls a frozen function without arguments at the top level, and freezes its return value.
pub fn evaluate_and_call(
    function: &OwnedFrozenValue,
    context: &Context,
    limits: &Limits,
) -> Result<OwnedFrozenValue, Failure> {
    let call = || {
        Module::with_temp_heap(|module| {
            let callee = module.heap().access_owned_frozen_value(function);
            {
                let mut evaluator = Evaluator::new(&module);
                prepare(&mut evaluator, context, limits)?;
                let result =
                    evaluator.eval_function(callee, &[], &[]).map_err(|error| Failure::of(&error, context, limits))?;
                module.set_extra_value(result);
            }
            freeze(module)
        })
    };
    let module = catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|payload| Err(Failure::panicked(payload)))?;
    module.owned_extra_value().ok_or_else(|| Diagnostic::error("the function returned nothing").into())
}

/// Runs a job on a thread with a stack of [`BIG_STACK`] bytes.
pub fn on_big_stack<T: Send>(job: impl FnOnce() -> T + Send) -> Result<T, Failure> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("script".into()).stack_size(BIG_STACK).spawn_scoped(scope, job);
        match thread {
            Ok(thread) => thread.join().map_err(Failure::panicked),
            Err(error) => Err(Diagnostic::error(format!("cannot start a thread for the script: {error}")).into()),
        }
    })
}
