//! Runs the tests of many files, several at once, and tells of them in order.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::jobs::{Job, run_all};
use super::one::{self, Test};
use super::report::{Ran, Report, full_name};
use crate::diagnostic::Diagnostic;
use crate::host_io::Reach;
use crate::script::{MAX_SOURCE, Source};

/// A test that does not end by then is stopped from within; what cannot be stopped is given up a little later.
pub(super) const DEADLINE: Duration = Duration::from_secs(60);
const GIVEN_UP: Duration = Duration::from_secs(65);

#[derive(Clone, Debug)]
pub struct Options {
    /// The folder that `//` means in `load()` and in paths of scripts.
    pub root: PathBuf,
    /// Only tests whose `file::name` has this text in it.
    pub filter: Option<String>,
    /// The way into the world, for local tools that a test lets go there.
    pub reach: Arc<Reach>,
}

/// Runs every test of these files. `told` hears of each in the order of the report, as soon as that is possible.
pub fn run(files: &[PathBuf], options: &Options, mut told: impl FnMut(&Ran)) -> std::io::Result<Report> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let at_once = std::thread::available_parallelism().map_or(2, usize::from);
    let started = Instant::now();
    let tests = collect(files, options, at_once);
    let mut in_order = InOrder { ran: Vec::new(), early: BTreeMap::new(), told: &mut told };
    let mut jobs: Vec<Job<Ran>> = Vec::new();
    let mut places = Vec::new();
    for (place, test) in tests.iter().enumerate() {
        match test {
            Err(broken) => in_order.take(place, broken.clone()),
            Ok(test) => {
                let (test, handle) = (test.clone(), runtime.handle().clone());
                jobs.push(Box::new(move || one::run(&test, &handle)));
                places.push(place);
            }
        }
    }
    run_all(jobs, at_once, GIVEN_UP, |number, result| {
        let place = places[number];
        match (result, &tests[place]) {
            (Some(ran), _) => in_order.take(place, ran),
            (None, Ok(test)) => in_order.take(place, lost(test)),
            (None, Err(_)) => {}
        }
    });
    let ran = in_order.ran;
    // A test that was given up may still run on it.
    runtime.shutdown_background();
    Ok(Report { ran, duration: started.elapsed() })
}

/// Holds what is early until it is its turn.
struct InOrder<'a> {
    ran: Vec<Ran>,
    early: BTreeMap<usize, Ran>,
    told: &'a mut dyn FnMut(&Ran),
}

impl InOrder<'_> {
    fn take(&mut self, place: usize, ran: Ran) {
        self.early.insert(place, ran);
        while let Some(next) = self.early.remove(&self.ran.len()) {
            (self.told)(&next);
            self.ran.push(next);
        }
    }
}

/// The tests of all files in order; in place of those of a file that cannot be loaded, why.
fn collect(files: &[PathBuf], options: &Options, at_once: usize) -> Vec<Result<Test, Ran>> {
    let jobs = files.iter().map(|path| {
        let (path, options) = (path.clone(), options.clone());
        Box::new(move || tests_of(&path, &options)) as Job<_>
    });
    let mut found: Vec<Vec<Result<Test, Ran>>> = files.iter().map(|_| Vec::new()).collect();
    run_all(jobs.collect(), at_once, GIVEN_UP, |number, tests| {
        let never = || vec![Err(broken(&files[number], Diagnostic::error("the file could not be loaded in time")))];
        found[number] = tests.unwrap_or_else(never);
    });
    found.into_iter().flatten().collect()
}

fn tests_of(path: &Path, options: &Options) -> Vec<Result<Test, Ran>> {
    let source = match read(path) {
        Ok(source) => Arc::new(source),
        Err(problem) => return vec![Err(broken(path, problem))],
    };
    let root: Arc<Path> = root_of(path, &options.root).into();
    match one::tests_in(&source, &root, &options.reach) {
        Ok(tests) => {
            let wanted = |test: &Test| {
                let whole = full_name(&source.name, Some(&test.name));
                options.filter.as_ref().is_none_or(|text| whole.contains(text))
            };
            tests.into_iter().filter(wanted).map(Ok).collect()
        }
        Err((problem, output)) => vec![Err(Ran { output, ..broken(path, problem) })],
    }
}

/// A test loads from the root that it is in; one from elsewhere from its own folder.
fn root_of(path: &Path, root: &Path) -> PathBuf {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (file, root) = (real(path), real(root));
    if file.starts_with(&root) { root } else { file.parent().map(Path::to_owned).unwrap_or(root) }
}

fn read(path: &Path) -> Result<Source, Diagnostic> {
    let unreadable = |error| Diagnostic::error(format!("`{}` cannot be read: {error}", path.display()));
    let size = std::fs::metadata(path).map_err(unreadable)?.len();
    if size > MAX_SOURCE as u64 {
        return Err(Diagnostic::error(format!(
            "`{}` has {size} bytes; a script may have {MAX_SOURCE}",
            path.display()
        )));
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    let shown = path.strip_prefix("./").unwrap_or(path).display().to_string();
    Ok(Source::at(shown, text, path))
}

fn broken(path: &Path, problem: Diagnostic) -> Ran {
    let file = path.strip_prefix("./").unwrap_or(path).display().to_string();
    Ran { file, test: None, failure: Some(Box::new(problem)), output: Vec::new(), duration: Duration::ZERO }
}

fn lost(test: &Test) -> Ran {
    let problem = Diagnostic::error(format!("the test did not end within {} s", GIVEN_UP.as_secs()))
        .hint("one operation of it cannot be interrupted: a value is probably far too large");
    Ran {
        file: test.source.name.clone(),
        test: Some(test.name.clone()),
        failure: Some(Box::new(problem)),
        output: Vec::new(),
        duration: GIVEN_UP,
    }
}
