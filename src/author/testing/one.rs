//! One test: the file runs afresh, then the function, in a world that nobody else sees.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use tokio::runtime::Handle;

use super::globals::globals;
use super::host::TestHost;
use super::report::Ran;
use super::world::TestWorld;
use crate::builtins::presets;
use crate::diagnostic::Diagnostic;
use crate::script::{Context, Limits, Paths, Program, Source, functions, try_function};

/// Functions with this beginning are tests.
const PREFIX: &str = "test_";

/// What a test may compute: as much as a handler. Waiting does not count, but there is a deadline.
const LIMITS: Limits = Limits::HANDLER;

#[derive(Clone, Debug)]
pub(super) struct Test {
    pub source: Arc<Source>,
    pub root: Arc<Path>,
    pub name: String,
}

/// The names of a file's tests; or what is wrong with the file, and what it printed.
pub(super) fn names(source: &Source, root: &Path) -> Result<Vec<String>, (Diagnostic, Vec<String>)> {
    let context = Context::top(Arc::new(()), &LIMITS);
    let found = functions(&program(source, root, &context));
    match found {
        Ok(names) => Ok(names.into_iter().filter(|name| name.starts_with(PREFIX)).collect()),
        Err(failure) => Err((*failure.diagnostic, printed(&context))),
    }
}

pub(super) fn run(test: &Test, runtime: &Handle) -> Ran {
    let started = Instant::now();
    let context = Context::top(Arc::new(()), &LIMITS);
    let world = Arc::new(TestWorld::new(runtime.clone()));
    let host = Arc::new(TestHost::new(Arc::clone(&world)));
    let program = program(&test.source, &test.root, &context);
    let outcome = try_function(&program, &test.name, Arc::clone(&world) as _, host, &LIMITS);
    let failure = outcome.err().map(|failure| failure.diagnostic).or_else(|| world.complaint().map(Box::new));
    let mut output = printed(&context);
    output.extend(world.printed());
    Ran { file: test.source.name.clone(), test: Some(test.name.clone()), failure, output, duration: started.elapsed() }
}

fn printed(context: &Context) -> Vec<String> {
    context.log.borrow().iter().map(|line| line.message.clone()).collect()
}

fn program<'a>(source: &'a Source, root: &'a Path, context: &'a Context) -> Program<'a> {
    Program {
        source,
        globals: globals(),
        context,
        limits: &LIMITS,
        root: Some(root),
        embedded: presets::LIBRARY,
        paths: Paths::Short,
        collects: false,
    }
}
