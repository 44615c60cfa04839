//! Runs one test: evaluates its file again, then calls its function, in a new [`TestWorld`].

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use tokio::runtime::Handle;

use super::report::TestResult;
use crate::testing::language::globals;
use crate::testing::world::{TestCase, TestHost, TestWorld};
use proxy_base::diagnostic::Diagnostic;
use proxy_builtins::presets;
use proxy_engine::extension;
use proxy_host_io::HostIo;
use proxy_script::{Context, Limits, Paths, Program, Source, look, try_function};

/// Functions with this prefix are tests.
const PREFIX: &str = "test_";

/// A test has the limits of a handler. Time spent waiting does not count, but the test has a deadline.
const LIMITS: Limits = Limits::HANDLER;

/// The hint for effects at the top level of a test file.
const TOP_LEVEL_HINT: &str = "move this into a test function: `def test_it(): ...`";

/// The tests of a file; or the error of a file that cannot be loaded, and its output.
pub(super) fn tests_in(
    source: &Arc<Source>,
    root: &Arc<Path>,
    host_io: &Arc<HostIo>,
) -> Result<Vec<TestCase>, (Diagnostic, Vec<String>)> {
    let folder = source.path.as_deref().and_then(Path::parent);
    let no_extension = Arc::new(extension::ExtensionRuntime::new(Arc::clone(host_io), folder));
    let context = Context::top(Arc::clone(&no_extension) as _, &LIMITS).with_top_level_hint(TOP_LEVEL_HINT);
    let found = look(&program(source, root, &context));
    let found = found.map_err(|failure| (*failure.diagnostic, printed(&context)))?;
    let local = extension_of(source, found.files, host_io).unwrap_or(no_extension);
    let test = |name| TestCase {
        source: Arc::clone(source),
        root: Arc::clone(root),
        name,
        host_io: Arc::clone(host_io),
        local: Arc::clone(&local),
    };
    Ok(found.functions.into_iter().filter(|name| name.starts_with(PREFIX)).map(test).collect())
}

/// A test runs with the permissions of the extension whose name it has (`x_test.star` for `x.star`), otherwise with those of
/// the first extension it loads.
fn extension_of(
    source: &Source,
    mut files: Vec<PathBuf>,
    host_io: &Arc<HostIo>,
) -> Option<Arc<extension::ExtensionRuntime>> {
    let stem = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let own_stem = source.path.as_deref().map(stem)?;
    files.sort_by_key(|file| format!("{}_test", stem(file)) != own_stem);
    files.into_iter().find_map(|path| {
        let source = extension::read(&path).ok()?;
        // An error in the extension is reported by the `load()` of the test.
        extension::load_runtime(&source, &LIMITS, host_io).ok().flatten()
    })
}

pub(super) fn run(test: &TestCase, runtime: &Handle) -> TestResult {
    let started = Instant::now();
    let context = Context::top(Arc::clone(&test.local) as _, &LIMITS).with_top_level_hint(TOP_LEVEL_HINT);
    let world = Arc::new(TestWorld::new(test, runtime.clone()));
    let host = Arc::new(TestHost::new(Arc::clone(&world))).host();
    let program = program(&test.source, &test.root, &context);
    let outcome = try_function(&program, &test.name, Arc::clone(&test.local) as _, host, &LIMITS);
    let final_error = || world.final_error().map(|error| Box::new(from_root(error, &test.root)));
    let failure = outcome.err().map(|failure| failure.diagnostic).or_else(final_error);
    let mut output = printed(&context);
    output.extend(world.printed());
    TestResult {
        file: test.source.name.clone(),
        test: Some(test.name.clone()),
        failure,
        output,
        duration: started.elapsed(),
    }
}

/// The error with the path of its file from the root, as errors of the test itself have it.
fn from_root(mut error: Diagnostic, root: &Path) -> Diagnostic {
    if let Some(place) = &mut error.place
        && let Ok(below) = Path::new(&place.file).strip_prefix(root).map(|below| below.display().to_string())
    {
        place.file = below;
    }
    error
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
