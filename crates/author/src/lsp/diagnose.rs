//! Diagnostics of an open document, the same as those of `proxy check`.

use std::path::Path;
use std::sync::Arc;

use lsp_types::{DiagnosticSeverity, NumberOrString};

use super::document::{ScriptDocument, range};
use super::workspace::{Workspace, WorkspaceState};
use crate::check::CheckReport;
use crate::lint::{self, Role};
use proxy_base::diagnostic::{Diagnostic, Severity};
use proxy_config::SessionScript;
use proxy_engine::extension;
use proxy_engine::gateway::Offline;
use proxy_host_io::HostIo;
use proxy_script::{Limits, Source};

pub(super) fn diagnose(
    document: &ScriptDocument,
    state: &WorkspaceState,
    workspace: &Workspace,
) -> Vec<lsp_types::Diagnostic> {
    let source = document.source();
    let role = Role::of(&source);
    let folder = source.path.as_deref().and_then(Path::parent);
    let root = if role == Role::Session { state.root(source.path.as_deref()) } else { folder };
    let mut report = CheckReport::default();
    report.add(lint::with_loads(&source, role, root));
    if !report.problems.iter().any(Diagnostic::is_error) {
        match role {
            Role::Session => dry_run(&source, state, workspace, &mut report),
            Role::Extension => {
                let host_io = Arc::new(HostIo::new(workspace.options.variables.clone(), None));
                report.add(extension::load(&source, &Limits::SESSION_SCRIPT, &host_io).err());
            }
            Role::Test | Role::Library => {}
        }
    }
    let problems = report.problems.iter().filter(|problem| belongs_to(problem, &source));
    problems.map(|problem| to_lsp(problem, document)).collect()
}

/// Problems in loaded files are shown when these files are open. Problems without a position concern the whole script.
fn belongs_to(problem: &Diagnostic, source: &Source) -> bool {
    problem.place.as_ref().is_none_or(|place| place.file == source.name)
}

/// Runs the text as the session script of the config.
fn dry_run(source: &Source, state: &WorkspaceState, workspace: &Workspace, report: &mut CheckReport) {
    let Some(config) = &state.config else { return };
    let Ok(mut offline) = Offline::look(config, &workspace.options) else { return };
    offline.script_source.source = source.clone();
    // A script other than the config's need not use the config's sections.
    let is_configured = matches!(&config.session, SessionScript::File(path) if same_file(path, source.path.as_deref()));
    offline.script_source.lenient |= !is_configured;
    match offline.build() {
        Ok(surface) => report.add_warnings(&surface, &offline.snapshot),
        Err(error) => report.add(error.diagnostics().cloned()),
    }
}

fn same_file(path: &Path, other: Option<&Path>) -> bool {
    let other = other.and_then(|other| other.canonicalize().ok());
    other.is_some() && path.canonicalize().ok() == other
}

fn to_lsp(problem: &Diagnostic, document: &ScriptDocument) -> lsp_types::Diagnostic {
    let severity = match problem.severity {
        Severity::Error => DiagnosticSeverity::ERROR,
        Severity::Warning => DiagnosticSeverity::WARNING,
        Severity::Note => DiagnosticSeverity::INFORMATION,
    };
    let span = problem.place.as_ref().map_or(0..0, |place| place.span.clone());
    let mut message = problem.message.clone();
    for note in &problem.notes {
        message.push_str(&format!("\nnote: {note}"));
    }
    if let Some(hint) = &problem.hint {
        message.push_str(&format!("\nhint: {hint}"));
    }
    lsp_types::Diagnostic {
        range: range(&document.text, &span),
        severity: Some(severity),
        code: problem.rule.as_ref().map(|rule| NumberOrString::String(rule.to_string())),
        source: Some("proxy".to_owned()),
        message,
        ..lsp_types::Diagnostic::default()
    }
}
