//! What is wrong with an open file, as `proxy check` would say it.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::document::{Document, range};
use super::world::{Workspace, World};
use crate::author::check::Report;
use crate::author::lint::{self, Role};
use crate::config::SessionScript;
use crate::diagnostic::{Diagnostic, Severity};
use crate::extension;
use crate::gateway::Offline;
use crate::host_io::Reach;
use crate::script::{Limits, Source};

pub(super) fn diagnose(document: &Document, world: &World, workspace: &Workspace) -> Vec<Value> {
    let source = document.source();
    let role = Role::of(&source);
    let folder = source.path.as_deref().and_then(Path::parent);
    let root = if role == Role::Session { world.root(source.path.as_deref()) } else { folder };
    let mut report = Report::default();
    report.add(lint::with_loads(&source, role, root));
    if !report.problems.iter().any(Diagnostic::is_error) {
        match role {
            Role::Session => dry_run(&source, world, workspace, &mut report),
            Role::Extension => {
                let reach = Arc::new(Reach::new(workspace.options.variables.clone(), None));
                report.add(extension::load(&source, &Limits::SESSION_SCRIPT, &reach).err());
            }
            Role::Test | Role::Library => {}
        }
    }
    report.problems.iter().filter(|problem| is_about(problem, &source)).map(|problem| told(problem, document)).collect()
}

/// What is wrong with another file is told there. What has no place is about the script as a whole.
fn is_about(problem: &Diagnostic, source: &Source) -> bool {
    problem.place.as_ref().is_none_or(|place| place.file == source.name)
}

/// Runs the text as the config's session script.
fn dry_run(source: &Source, world: &World, workspace: &Workspace, report: &mut Report) {
    let Some(config) = &world.config else { return };
    let Ok(mut offline) = Offline::look(config, &workspace.options) else { return };
    offline.script_source.source = source.clone();
    // Another script than the config's need not read the config's sections.
    let own = matches!(&config.session, SessionScript::File(path) if same(path, source.path.as_deref()));
    offline.script_source.lenient |= !own;
    match offline.build() {
        Ok(surface) => report.add_surface(&surface, &offline.snapshot, None),
        Err(error) => report.add([error.diagnostic().clone()]),
    }
}

fn same(path: &Path, other: Option<&Path>) -> bool {
    let other = other.and_then(|other| other.canonicalize().ok());
    other.is_some() && path.canonicalize().ok() == other
}

fn told(problem: &Diagnostic, document: &Document) -> Value {
    let severity = match problem.severity {
        Severity::Error => 1,
        Severity::Warning => 2,
        Severity::Note => 3,
    };
    let span = problem.place.as_ref().map_or(0..0, |place| place.span.clone());
    let mut message = problem.message.clone();
    for note in &problem.notes {
        message.push_str(&format!("\nnote: {note}"));
    }
    if let Some(hint) = &problem.hint {
        message.push_str(&format!("\nhint: {hint}"));
    }
    json!({
        "range": range(&document.text, &span), "severity": severity, "source": "proxy",
        "code": problem.rule, "message": message,
    })
}
