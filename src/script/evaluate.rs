//! Runs a script to its end and freezes what it made.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use sha2::Digest;
use starlark::environment::{FrozenModule, Globals, Module};
use starlark::eval::Evaluator;
use starlark::values::OwnedFrozenValue;

use super::loader::Loader;
use super::{Context, Embedded, Failure, Limits, Paths, Source, depth};
use crate::diagnostic::Diagnostic;

/// The parser and the freezer recurse on what they read; a stack this large holds what fits into a source file.
/// Only touched pages cost.
pub const BIG_STACK: usize = 64 << 20;

/// A script with all that it runs with.
#[derive(Clone, Copy)]
pub struct Program<'a> {
    pub source: &'a Source,
    pub globals: &'a Globals,
    pub context: &'a Context,
    pub limits: &'a Limits,
    /// Where `load("//...")` begins; without one only shipped files can be loaded.
    pub root: Option<&'a Path>,
    pub embedded: &'a [Embedded],
    pub paths: Paths,
    /// Whether the module carries a dict (its extra value) into which built-ins collect.
    pub collects: bool,
}

/// What a script left behind.
pub struct Evaluated {
    pub module: FrozenModule,
    /// Every file it loaded.
    pub files: Vec<PathBuf>,
    /// SHA-256 of its text and of all that it loaded, in hexadecimal.
    pub digest: String,
}

/// Runs a script. Call it on a big stack.
pub fn evaluate(program: &Program<'_>) -> Result<Evaluated, Failure> {
    let mut loader = Loader::new(program);
    let module =
        catch_unwind(AssertUnwindSafe(|| loader.main())).unwrap_or_else(|payload| Err(Failure::panicked(payload)))?;
    let digest = crate::json::hex(&loader.digest.finalize());
    Ok(Evaluated { module, files: loader.files, digest })
}

/// Calls a frozen function without arguments at the top level, and freezes what it returns.
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

/// Runs a job on a thread whose stack is large enough for parsing and freezing.
pub fn on_big_stack<T: Send>(job: impl FnOnce() -> T + Send) -> Result<T, Failure> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("script".into()).stack_size(BIG_STACK).spawn_scoped(scope, job);
        match thread {
            Ok(thread) => thread.join().map_err(Failure::panicked),
            Err(error) => Err(Diagnostic::error(format!("cannot start a thread for the script: {error}")).into()),
        }
    })
}

/// Makes an evaluator one of this run: it counts, and stops at a limit.
pub fn prepare<'a>(
    evaluator: &mut Evaluator<'_, 'a, '_>,
    context: &'a Context,
    limits: &Limits,
) -> Result<(), Failure> {
    watch(evaluator, context);
    evaluator.set_max_callstack_size(limits.stack).map_err(|error| Diagnostic::error(error.to_string()).into())
}

/// What the evaluator runs from now on belongs to this run, and is stopped by its limits.
pub(super) fn watch<'a>(evaluator: &mut Evaluator<'_, 'a, '_>, context: &'a Context) {
    evaluator.extra = Some(context);
    let module = evaluator.module();
    let memory = move || module.heap().allocated_bytes() + module.frozen_heap().allocated_bytes();
    evaluator.set_check_cancelled(Box::new(move || context.must_stop(memory())));
}

pub(super) fn freeze(module: Module<'_>) -> Result<FrozenModule, Failure> {
    if let Some(name) = depth::too_deep(&module) {
        return Err(Diagnostic::error(depth::message(&name)).into());
    }
    module.freeze().map_err(|error| {
        let reason = super::report::message(&starlark::Error::from(error));
        Diagnostic::error(format!("a value of the script cannot be kept: {reason}")).into()
    })
}
