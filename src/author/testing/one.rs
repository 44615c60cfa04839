//! One test: the file runs afresh, then the function, in a world that nobody else sees.

use std::path::{Path, PathBuf};
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
use crate::host_io::Reach;
use crate::script::{Context, Limits, Paths, Program, Source, look, try_function};

/// Functions with this beginning are tests.
const PREFIX: &str = "test_";

/// What a test may compute: as much as a handler. Waiting does not count, but there is a deadline.
const LIMITS: Limits = Limits::HANDLER;

#[derive(Clone, Debug)]
pub(super) struct Test {
    pub source: Arc<Source>,
    pub root: Arc<Path>,
    pub name: String,
    pub reach: Arc<Reach>,
    /// What handlers that it calls directly may do.
    pub local: Arc<extension::ExtensionRuntime>,
}

const IN_A_TEST: &str = "do it inside a test: `def test_it(): ...`";

/// The tests of a file; or what is wrong with the file, and what it printed.
pub(super) fn tests_in(
    source: &Arc<Source>,
    root: &Arc<Path>,
    reach: &Arc<Reach>,
) -> Result<Vec<Test>, (Diagnostic, Vec<String>)> {
    let folder = source.path.as_deref().and_then(Path::parent);
    let bare = Arc::new(extension::ExtensionRuntime::new(Arc::clone(reach), folder));
    let context = Context::top(Arc::clone(&bare) as _, &LIMITS).with_cure(IN_A_TEST);
    let found = look(&program(source, root, &context));
    let found = found.map_err(|failure| (*failure.diagnostic, printed(&context)))?;
    let local = extension_of(source, found.files, reach).unwrap_or(bare);
    let test = |name| Test {
        source: Arc::clone(source),
        root: Arc::clone(root),
        name,
        reach: Arc::clone(reach),
        local: Arc::clone(&local),
    };
    Ok(found.functions.into_iter().filter(|name| name.starts_with(PREFIX)).map(test).collect())
}

/// A test runs with the permissions of the extension that it is named after, else of the first one that it loads.
fn extension_of(
    source: &Source,
    mut files: Vec<PathBuf>,
    reach: &Arc<Reach>,
) -> Option<Arc<extension::ExtensionRuntime>> {
    let stem = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let own = source.path.as_deref().map(stem)?;
    files.sort_by_key(|file| format!("{}_test", stem(file)) != own);
    files.into_iter().find_map(|path| {
        let source = extension::read(&path).ok()?;
        // What is wrong with it is told where it is loaded.
        extension::load_runtime(&source, &LIMITS, reach).ok().flatten()
    })
}

pub(super) fn run(test: &Test, runtime: &Handle) -> Ran {
    let started = Instant::now();
    let context = Context::top(Arc::clone(&test.local) as _, &LIMITS).with_cure(IN_A_TEST);
    let world = Arc::new(TestWorld::new(test, runtime.clone()));
    let host = Arc::new(TestHost::new(Arc::clone(&world))).host();
    let program = program(&test.source, &test.root, &context);
    let outcome = try_function(&program, &test.name, Arc::clone(&test.local) as _, host, &LIMITS);
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
