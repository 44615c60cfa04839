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
use crate::extension;
use crate::reach::Reach;
use crate::script::{Context, Limits, Paths, Program, Source, Worlds, functions, try_function};

/// Functions with this beginning are tests.
const PREFIX: &str = "test_";

/// What a test may compute: as much as a handler. Waiting does not count, but there is a deadline.
const LIMITS: Limits = Limits::HANDLER;

#[derive(Clone, Debug)]
pub(super) struct Test {
    pub source: Arc<Source>,
    pub root: Arc<Path>,
    pub name: String,
    /// What extensions that are loaded share.
    pub reach: Arc<Reach>,
}

/// The names of a file's tests; or what is wrong with the file, and what it printed.
pub(super) fn names(
    source: &Source,
    root: &Path,
    reach: &Arc<Reach>,
) -> Result<Vec<String>, (Diagnostic, Vec<String>)> {
    let context = Context::top(local(source, reach), &LIMITS);
    let found = functions(&program(source, root, &context));
    match found {
        Ok(names) => Ok(names.into_iter().filter(|name| name.starts_with(PREFIX)).collect()),
        Err(failure) => Err((*failure.diagnostic, printed(&context))),
    }
}

pub(super) fn run(test: &Test, runtime: &Handle) -> Ran {
    let started = Instant::now();
    let local = local(&test.source, &test.reach);
    let context = Context::top(local.clone(), &LIMITS);
    let world = Arc::new(TestWorld::new(runtime.clone()));
    let worlds = Arc::new(Worlds(vec![Arc::clone(&world) as _, local as _]));
    let host = Arc::new(TestHost::new(Arc::clone(&world)));
    let program = program(&test.source, &test.root, &context);
    let outcome = try_function(&program, &test.name, worlds, host, &LIMITS);
    let failure = outcome.err().map(|failure| failure.diagnostic).or_else(|| world.complaint().map(Box::new));
    let mut output = printed(&context);
    output.extend(world.printed());
    Ran { file: test.source.name.clone(), test: Some(test.name.clone()), failure, output, duration: started.elapsed() }
}

/// What handlers of extensions have of the world when a test calls them: files beside the test, and nothing declared.
fn local(source: &Source, reach: &Arc<Reach>) -> Arc<extension::World> {
    Arc::new(extension::World::new(Arc::clone(reach), source.path.as_deref().and_then(Path::parent)))
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
