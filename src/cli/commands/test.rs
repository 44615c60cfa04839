//! `proxy test`: runs the tests in `*_test.star` files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use crate::cli::failure::CommandFailure;
use crate::cli::{output, setup, table};
use proxy_author::testing::{self, TestOptions, TestReport, TestResult};
use proxy_base::diagnostic::Diagnostic;
use proxy_base::foreign_text::visible;
use proxy_config::{self as config, Config, SessionScript};
use proxy_host_io::HostIo;

#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// Test files and folders [default: the folders of the config's extensions and script, scripts/ and extensions/]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Run only tests whose FILE::NAME contains this text
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Also write a JUnit XML report
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Config file; repeatable: `//` refers to the folder of the first [default: $PROXY_CONFIG, ./proxy.yaml, ./proxy.json]
    #[arg(short, long, value_name = "FILE")]
    config: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &TestArgs) -> Result<(), CommandFailure> {
    let (root, folders) = searched(&args.config)?;
    let paths = if args.paths.is_empty() { folders } else { args.paths.clone() };
    let files = testing::find(&paths)?;
    if files.is_empty() {
        let searched: Vec<String> = paths.iter().map(|path| format!("`{}`", path.display())).collect();
        return Err(no_tests(format!("no `*_test.star` file in {}", searched.join(", "))));
    }
    let host_io = Arc::new(HostIo::new(setup::variables(), Some(std::env::current_exe()?)));
    let options = TestOptions { root, filter: args.filter.clone(), host_io };
    let colour = output::stdout_colour();
    let report = testing::run(&files, &options, |ran| {
        if !args.json {
            output::out(&render(ran, colour));
        }
    })?;
    if report.ran.is_empty() {
        return Err(match &args.filter {
            Some(text) => no_tests(format!("no test name contains `{text}`")),
            None => no_tests(format!("no function `test_*` in {}", table::count(files.len(), "test file"))),
        });
    }
    if let Some(path) = &args.junit {
        write(path, &testing::junit(&report))?;
    }
    if args.json {
        output::json(&report.to_json());
    } else {
        output::out(&summary(&report, colour));
    }
    if report.failed() > 0 { Err(CommandFailure::already_reported(1)) } else { Ok(()) }
}

/// The folder that `//` refers to, and the folders in which tests are looked for.
pub(super) fn searched(config: &[PathBuf]) -> Result<(PathBuf, Vec<PathBuf>), CommandFailure> {
    let current = std::env::current_dir()?;
    let config = setup::find_configs(config, &current, None)?;
    let root = config.first().map_or_else(|| current.clone(), |path| setup::absolute_folder(path));
    let folders = default_folders(&root, &config, &current);
    Ok((root, folders))
}

fn no_tests(message: String) -> CommandFailure {
    let hint = "a test is a function `test_...()` in a file whose name ends in `_test.star`; pass files or folders with `proxy test PATH`";
    CommandFailure::from(Diagnostic::error(message).hint(hint))
}

/// The folders to search if no path is given: those of the scripts and extensions in the config, `scripts/` and
/// `extensions/`. Folders below the current one are relative.
fn default_folders(root: &Path, config: &[PathBuf], current: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = ["scripts", "extensions"].iter().map(|name| root.join(name)).collect();
    // Unset variables and errors in the config do not affect its tests.
    let anything = |name: &str| Some(std::env::var(name).unwrap_or_else(|_| "unset".to_owned()));
    if let Ok((config, _)) = config::load_files(config, &anything) {
        folders.extend(configured_folders(&config));
    }
    folders.retain(|folder| folder.is_dir());
    folders.sort();
    folders.dedup();
    if folders.is_empty() {
        folders.push(root.to_owned());
    }
    // A test beside the config file counts too, but not what else lies there.
    if !folders.contains(&root.to_owned()) {
        folders.extend(own_tests(root));
    }
    let shorter = |folder: PathBuf| match folder.strip_prefix(current) {
        Ok(below) if below.as_os_str().is_empty() => PathBuf::from("."),
        Ok(below) => below.to_owned(),
        Err(_) => folder,
    };
    folders.into_iter().map(shorter).collect()
}

/// The files with tests in a folder, and not in those below it.
fn own_tests(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut tests: Vec<PathBuf> =
        files.filter(|file| file.to_string_lossy().ends_with("_test.star") && file.is_file()).collect();
    tests.sort();
    tests
}

fn configured_folders(config: &Config) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = config.extensions.iter().map(|extension| folder_of(&extension.path)).collect();
    if let SessionScript::File(path) = &config.session {
        folders.push(folder_of(path));
    }
    folders
}

/// The folder itself, or the folder that contains the file or pattern.
fn folder_of(path: &Path) -> PathBuf {
    let is_plain = |path: &Path| !path.to_string_lossy().contains(['*', '?', '[']);
    let mut folder = path;
    while !folder.is_dir() || !is_plain(folder) {
        let Some(parent) = folder.parent() else { break };
        folder = parent;
    }
    folder.to_owned()
}

fn write(path: &Path, text: &str) -> Result<(), CommandFailure> {
    let unwritable = |error| CommandFailure::usage(format!("cannot write the report `{}`: {error}", path.display()));
    std::fs::write(path, text).map_err(unwritable)
}

fn painted(text: &str, code: u8, colour: bool) -> String {
    if colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
}

/// The line of a test. For a failed test, also the error and the printed output, which are untrusted text.
fn render(ran: &TestResult, colour: bool) -> String {
    let name = ran.name();
    let name = output::one_line(&name);
    let Some(failure) = &ran.failure else {
        return format!("{}    {name}", painted("ok", 32, colour));
    };
    let failure = output::harmless(failure).render(colour);
    let mut text = format!("{}  {name}\n{failure}", painted("FAIL", 31, colour));
    if !ran.output.is_empty() {
        text.push_str("\nprinted:");
        for line in ran.output.iter().flat_map(|output| output.split('\n')) {
            text.push_str("\n  ");
            text.push_str(&visible(line));
        }
    }
    text.push('\n');
    text
}

fn summary(report: &TestReport, colour: bool) -> String {
    let (passed, failed) = (report.passed(), report.failed());
    let seconds = format!("in {:.2} s", report.duration.as_secs_f64());
    match failed {
        0 => format!("{}, all passed, {seconds}", painted(&table::count(passed, "test"), 32, colour)),
        _ => format!("{passed} passed, {} {seconds}", painted(&format!("{failed} failed"), 31, colour)),
    }
}
