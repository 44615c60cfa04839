//! `proxy test`: run `*_test.star`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::failure::Failure;
use super::{output, setup, table};
use crate::author::testing::{self, Options, Ran, Report};
use crate::config::{self, Config, SessionScript};
use crate::diagnostic::Diagnostic;
use crate::host_io::Reach;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Test files and folders (default: the folders of the config's extensions and script, scripts/ and extensions/)
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Only tests whose FILE::NAME has this text in it
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Write a report as JUnit XML too
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// The config file whose folder `//` means (default: ./proxy.yaml, ./proxy.json, then the current folder)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let current = std::env::current_dir()?;
    let config = config::find(arguments.config.as_deref(), &current, None)?;
    let root = match &config {
        Some(path) => setup::absolute_folder(path),
        None => current.clone(),
    };
    let paths =
        if arguments.paths.is_empty() { usual(&root, config.as_deref(), &current) } else { arguments.paths.clone() };
    let files = testing::find(&paths)?;
    if files.is_empty() {
        let places: Vec<String> = paths.iter().map(|path| format!("`{}`", path.display())).collect();
        return Err(nothing(format!("there is no `*_test.star` in {}", places.join(", "))));
    }
    let reach = Arc::new(Reach::new(setup::variables(), Some(std::env::current_exe()?)));
    let options = Options { root, filter: arguments.filter.clone(), reach };
    let colour = output::colour_of_answers();
    let report = testing::run(&files, &options, |ran| {
        if !arguments.json {
            output::out(&told(ran, colour));
        }
    })?;
    if report.ran.is_empty() {
        return Err(match &arguments.filter {
            Some(text) => nothing(format!("no test has `{text}` in its name")),
            None => nothing(format!("there is no function `test_*` in {}", table::count(files.len(), "test file"))),
        });
    }
    if let Some(path) = &arguments.junit {
        write(path, &testing::junit(&report))?;
    }
    if arguments.json {
        output::json(&report.to_json());
    } else {
        output::out(&summary(&report, colour));
    }
    if report.failed() > 0 { Err(Failure::silent()) } else { Ok(()) }
}

fn nothing(message: String) -> Failure {
    let hint = "a test is a function `test_...()` in a file that ends in `_test.star`; name files or folders: `proxy test PATH`";
    Failure::from(Diagnostic::error(message).hint(hint))
}

/// Where tests usually are: beside what the config names, and in the usual folders. Relative where that is shorter.
fn usual(root: &Path, config: Option<&Path>, current: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = ["scripts", "extensions"].iter().map(|name| root.join(name)).collect();
    // What is unset or wrong in a config is no matter of its tests.
    let anything = |name: &str| Some(std::env::var(name).unwrap_or_else(|_| "unset".to_owned()));
    if let Some((config, _)) = config.and_then(|path| config::load(path, &anything).ok()) {
        folders.extend(named(&config));
    }
    folders.retain(|folder| folder.is_dir());
    folders.sort();
    folders.dedup();
    if folders.is_empty() {
        folders.push(root.to_owned());
    }
    let shorter = |folder: PathBuf| match folder.strip_prefix(current) {
        Ok(below) if below.as_os_str().is_empty() => PathBuf::from("."),
        Ok(below) => below.to_owned(),
        Err(_) => folder,
    };
    folders.into_iter().map(shorter).collect()
}

fn named(config: &Config) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = config.extensions.iter().map(|extension| folder_of(&extension.path)).collect();
    if let SessionScript::File(path) = &config.session {
        folders.push(folder_of(path));
    }
    folders
}

/// A folder as it is; of a file, or of a pattern, the folder it is in.
fn folder_of(path: &Path) -> PathBuf {
    let is_plain = |path: &Path| !path.to_string_lossy().contains(['*', '?', '[']);
    let mut folder = path;
    while !folder.is_dir() || !is_plain(folder) {
        let Some(parent) = folder.parent() else { break };
        folder = parent;
    }
    folder.to_owned()
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let unwritable = |error| Failure::usage(format!("the report `{}` cannot be written: {error}", path.display()));
    std::fs::write(path, text).map_err(unwritable)
}

fn painted(text: &str, code: u8, colour: bool) -> String {
    if colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
}

/// A line for one that passed; for one that failed also why, and what it printed.
fn told(ran: &Ran, colour: bool) -> String {
    let Some(failure) = &ran.failure else {
        return format!("{}    {}", painted("ok", 32, colour), ran.name());
    };
    let mut text = format!("{}  {}\n{}", painted("FAIL", 31, colour), ran.name(), failure.render(colour));
    if !ran.output.is_empty() {
        text.push_str("\nprinted:");
        for line in ran.output.iter().flat_map(|output| output.lines()) {
            text.push_str("\n  ");
            text.push_str(line);
        }
    }
    text.push('\n');
    text
}

fn summary(report: &Report, colour: bool) -> String {
    let (passed, failed) = (report.passed(), report.failed());
    let seconds = format!("in {:.2} s", report.duration.as_secs_f64());
    match failed {
        0 => format!("{}, all passed, {seconds}", painted(&table::count(passed, "test"), 32, colour)),
        _ => format!("{passed} passed, {} {seconds}", painted(&format!("{failed} failed"), 31, colour)),
    }
}
