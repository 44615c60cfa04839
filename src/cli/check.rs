//! `proxy check`: is everything right, without starting a server.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};

use super::failure::Failure;
use super::setup::{self, Source};
use super::{output, table};
use crate::diagnostic::{Diagnostic, Severity};
use crate::extension;
use crate::gateway::Offline;
use crate::model::{ItemKind, Status};
use crate::reach::Reach;
use crate::script::{self, Limits};
use crate::session::Surface;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Config files, session scripts or extensions to check (default: the config that would be used)
    files: Vec<PathBuf>,
    /// Start the servers and check against what they offer now
    #[arg(long)]
    live: bool,
    #[command(flatten)]
    source: Source,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What a check found.
#[derive(Default)]
struct Report {
    problems: Vec<Diagnostic>,
    tools: Vec<(String, String)>,
    servers: Vec<(String, String)>,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut report = Report::default();
    let mut code = 0;
    let mut note = |outcome: Result<(), Failure>, report: &mut Report| {
        if let Err(failure) = outcome {
            let (failed, problems) = failure.into_parts();
            code = code.max(failed);
            report.problems.extend(problems);
        }
    };
    if arguments.files.is_empty() {
        note(check_config(&arguments.source, arguments.live, &mut report), &mut report);
    }
    // What is wrong with one file does not hide the next.
    for file in &arguments.files {
        let outcome = if file.extension().is_some_and(|extension| extension == "star") {
            check_script(file, &arguments.source, arguments.live, &mut report)
        } else {
            check_config(&Source::of_file(file), arguments.live, &mut report)
        };
        note(outcome, &mut report);
    }
    if arguments.json {
        output::json(&as_json(&report));
    } else {
        show(&report);
    }
    let code = if report.problems.iter().any(Diagnostic::is_error) { code.max(1) } else { code };
    if code == 0 { Ok(()) } else { Err(Failure::said(code)) }
}

fn check_config(source: &Source, live: bool, report: &mut Report) -> Result<(), Failure> {
    if live {
        return setup::with_gateway(source, None, async |gateway, surface| {
            report.take_servers(&gateway.snapshot().backends);
            report.take_failures(&gateway.snapshot().backends);
            report.take(&surface);
            Ok(())
        });
    }
    let loaded = source.load()?;
    let options = setup::options(loaded.bundled)?;
    let offline = Offline::look(&loaded.config, &options).map_err(Failure::config)?;
    report.take_servers(&offline.snapshot.backends);
    report.take(&offline.build().map_err(|error| Failure::from(&error))?);
    Ok(())
}

/// A script by itself: an extension if it describes one, otherwise a session script over the config's servers.
fn check_script(file: &Path, source: &Source, live: bool, report: &mut Report) -> Result<(), Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("`{}` cannot be read: {error}", file.display())))?;
    let script = script::Source::at(file.display().to_string(), text.as_str(), file);
    if text.contains("def describe_extension") {
        let reach = Arc::new(Reach::new(setup::variables(), None));
        match extension::load(&script, &Limits::SESSION_SCRIPT, &reach) {
            Ok(Some(extension)) => {
                let tools = extension.of(ItemKind::Tool);
                report.tools.extend(tools.map(|tool| (tool.definition.key().to_owned(), extension.name.clone())));
            }
            Ok(None) => {
                report.problems.push(Diagnostic::warning(format!("`{}` describes no extension", file.display())))
            }
            Err(diagnostic) => return Err(Failure::failed(diagnostic)),
        }
        return Ok(());
    }
    check_config(&source.with_script(file), live, report)
}

impl Report {
    /// Servers that were started and are not there.
    fn take_failures(&mut self, backends: &[Arc<crate::model::BackendView>]) {
        for backend in backends.iter().filter(|backend| !backend.error.is_empty()) {
            let message = format!("server `{}` is not available: {}", backend.name, backend.error);
            self.problems.push(Diagnostic::error(message));
        }
    }

    fn take(&mut self, surface: &Arc<Surface>) {
        self.problems.extend(surface.warnings.iter().cloned());
        self.tools.extend(surface.tools().map(|entry| {
            let server = entry.origin.as_ref().map(|origin| origin.backend.to_string()).unwrap_or_default();
            (entry.definition.key().to_owned(), server)
        }));
    }

    fn take_servers(&mut self, backends: &[Arc<crate::model::BackendView>]) {
        for backend in backends {
            let state = match backend.status {
                Status::Cached => format!("{} tools as last seen", backend.lists.tools.len()),
                Status::Starting => "never seen: `proxy check --live` starts it".to_owned(),
                Status::Failed => format!("failed: {}", backend.error),
                Status::Ready => format!("{} tools", backend.lists.tools.len()),
            };
            self.servers.push((backend.name.to_string(), state));
            for report in backend.reports.iter() {
                self.problems.push(Diagnostic::warning(format!("server `{}`: {report}", backend.name)));
            }
        }
    }
}

fn show(report: &Report) {
    output::diagnostics(&report.problems);
    let pairs = |pairs: &[(String, String)]| -> Vec<Vec<String>> {
        pairs.iter().map(|(left, right)| vec![left.clone(), right.clone()]).collect()
    };
    if !report.servers.is_empty() {
        output::out(&table::render(&["SERVER", "STATE"], &pairs(&report.servers)));
        output::out("");
    }
    if !report.tools.is_empty() {
        output::out(&table::render(&["TOOL", "SERVER"], &pairs(&report.tools)));
        output::out("");
    }
    let errors = report.problems.iter().filter(|problem| problem.is_error()).count();
    let warnings = report.problems.len() - errors;
    output::out(&format!(
        "{} published, {}, {}",
        table::count(report.tools.len(), "tool"),
        table::count(errors, "error"),
        table::count(warnings, "warning")
    ));
}

fn as_json(report: &Report) -> Value {
    let problems: Vec<Value> = report
        .problems
        .iter()
        .map(|problem| {
            json!({
                "severity": if problem.severity == Severity::Error { "error" } else { "warning" },
                "message": problem.message,
                "file": problem.place.as_ref().map(|place| place.file.clone()),
                "line": problem.place.as_ref().map(crate::diagnostic::Place::line),
                "column": problem.place.as_ref().map(crate::diagnostic::Place::column),
                "hint": problem.hint,
            })
        })
        .collect();
    let pair = |(name, other): &(String, String), key: &str| json!({"name": name, key: other});
    json!({
        "problems": problems,
        "servers": report.servers.iter().map(|server| pair(server, "state")).collect::<Vec<_>>(),
        "tools": report.tools.iter().map(|tool| pair(tool, "server")).collect::<Vec<_>>(),
    })
}
