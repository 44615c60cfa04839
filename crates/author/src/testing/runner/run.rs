//! Runs the tests of all files in parallel and reports the results in order.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::jobs::{TestJob, run_all};
use super::report::{TestReport, TestResult, full_name};
use super::run_test;
use crate::testing::world::TestCase;
use proxy_base::diagnostic::Diagnostic;
use proxy_host_io::HostIo;
use proxy_script::{MAX_SOURCE, Source};

/// A test that is still running then is abandoned. Longer than the deadline of a test, at which the evaluator stops it:
/// only a single operation that cannot be interrupted gets this far.
const ABANDON_TIMEOUT: Duration = Duration::from_secs(65);

#[derive(Clone, Debug)]
pub struct TestOptions {
    /// The folder that `//` stands for in `load()` and in paths of scripts.
    pub root: PathBuf,
    /// Runs only tests whose `file::name` contains this text.
    pub filter: Option<String>,
    /// Real I/O, for extension tools whose effects a test does not mock.
    pub host_io: Arc<HostIo>,
}

/// Runs every test of these files. Calls `on_result` with each result in the order of the report, as early as possible.
pub fn run(
    files: &[PathBuf],
    options: &TestOptions,
    mut on_result: impl FnMut(&TestResult),
) -> std::io::Result<TestReport> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let parallelism = std::thread::available_parallelism().map_or(2, usize::from);
    let started = Instant::now();
    let tests = collect(files, options, parallelism);
    let mut in_order = InOrder { ran: Vec::new(), buffered: BTreeMap::new(), on_result: &mut on_result };
    let mut jobs: Vec<TestJob<TestResult>> = Vec::new();
    let mut job_tests = Vec::new();
    for (index, test) in tests.iter().enumerate() {
        match test {
            Err(failed) => in_order.push(index, failed.clone()),
            Ok(test) => {
                let (test, handle) = (test.clone(), runtime.handle().clone());
                jobs.push(Box::new(move || run_test::run(&test, &handle)));
                job_tests.push(index);
            }
        }
    }
    run_all(jobs, parallelism, ABANDON_TIMEOUT, |job, result| {
        let index = job_tests[job];
        match (result, &tests[index]) {
            (Some(ran), _) => in_order.push(index, ran),
            (None, Ok(test)) => in_order.push(index, abandoned(test)),
            (None, Err(_)) => {}
        }
    });
    let ran = in_order.ran;
    // An abandoned test may still be running on it, so do not wait for its tasks.
    runtime.shutdown_background();
    Ok(TestReport { ran, duration: started.elapsed() })
}

/// Buffers results that arrive early, and emits all results in order.
struct InOrder<'a> {
    ran: Vec<TestResult>,
    buffered: BTreeMap<usize, TestResult>,
    on_result: &'a mut dyn FnMut(&TestResult),
}

impl InOrder<'_> {
    fn push(&mut self, index: usize, ran: TestResult) {
        self.buffered.insert(index, ran);
        while let Some(next) = self.buffered.remove(&self.ran.len()) {
            (self.on_result)(&next);
            self.ran.push(next);
        }
    }
}

/// The tests of all files in order. A file that cannot be loaded yields one failed result instead of its tests.
fn collect(files: &[PathBuf], options: &TestOptions, parallelism: usize) -> Vec<Result<TestCase, TestResult>> {
    let jobs = files.iter().map(|path| {
        let (path, options) = (path.clone(), options.clone());
        Box::new(move || tests_of(&path, &options)) as TestJob<_>
    });
    let mut found: Vec<Vec<Result<TestCase, TestResult>>> = files.iter().map(|_| Vec::new()).collect();
    run_all(jobs.collect(), parallelism, ABANDON_TIMEOUT, |index, tests| {
        let timeout = || Diagnostic::error(format!("the file did not load within {} s", ABANDON_TIMEOUT.as_secs()));
        found[index] = tests.unwrap_or_else(|| vec![Err(load_failure(&files[index], timeout()))]);
    });
    found.into_iter().flatten().collect()
}

fn tests_of(path: &Path, options: &TestOptions) -> Vec<Result<TestCase, TestResult>> {
    let source = match read(path) {
        Ok(source) => Arc::new(source),
        Err(problem) => return vec![Err(load_failure(path, problem))],
    };
    let root: Arc<Path> = root_of(path, &options.root).into();
    match run_test::tests_in(&source, &root, &options.host_io) {
        Ok(tests) => {
            let matches = |test: &TestCase| {
                let full_name = full_name(&source.name, Some(&test.name));
                options.filter.as_ref().is_none_or(|text| full_name.contains(text))
            };
            tests.into_iter().filter(matches).map(Ok).collect()
        }
        Err((problem, output)) => vec![Err(TestResult { output, ..load_failure(path, problem) })],
    }
}

/// The root for a test file: the given root if the file is in it, otherwise the folder of the file.
fn root_of(path: &Path, root: &Path) -> PathBuf {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (file, root) = (real(path), real(root));
    if file.starts_with(&root) { root } else { file.parent().map(Path::to_owned).unwrap_or(root) }
}

fn read(path: &Path) -> Result<Source, Diagnostic> {
    let unreadable = |error| Diagnostic::error(format!("cannot read `{}`: {error}", path.display()));
    let size = std::fs::metadata(path).map_err(unreadable)?.len();
    if size > MAX_SOURCE as u64 {
        return Err(Diagnostic::error(format!(
            "`{}` is too large: {size} bytes; the limit is {MAX_SOURCE}",
            path.display()
        )));
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    let shown = path.strip_prefix("./").unwrap_or(path).display().to_string();
    Ok(Source::at(shown, text, path))
}

fn load_failure(path: &Path, problem: Diagnostic) -> TestResult {
    let file = path.strip_prefix("./").unwrap_or(path).display().to_string();
    TestResult { file, test: None, failure: Some(Box::new(problem)), output: Vec::new(), duration: Duration::ZERO }
}

fn abandoned(test: &TestCase) -> TestResult {
    let problem = Diagnostic::error(format!("the test did not finish within {} s", ABANDON_TIMEOUT.as_secs()))
        .hint("a single operation took too long and cannot be interrupted; check for very large values");
    TestResult {
        file: test.source.name.clone(),
        test: Some(test.name.clone()),
        failure: Some(Box::new(problem)),
        output: Vec::new(),
        duration: ABANDON_TIMEOUT,
    }
}
