//! Why a command did not do what was asked, and the exit code that says so.

use std::process::ExitCode;

use super::output;
use crate::diagnostic::Diagnostic;
use crate::surface::BuildError;

#[derive(Debug)]
pub(super) struct Failure {
    code: u8,
    diagnostics: Vec<Diagnostic>,
}

impl Failure {
    /// The thing asked for failed.
    pub(super) fn failed(diagnostic: Diagnostic) -> Self {
        Failure { code: 1, diagnostics: vec![diagnostic] }
    }

    /// The same, where everything has been said already.
    pub(super) fn silent() -> Self {
        Failure::said(1)
    }

    /// A failure with this exit code that has told all there is.
    pub(super) fn said(code: u8) -> Self {
        Failure { code, diagnostics: Vec::new() }
    }

    /// The config, or the way the command was called, is wrong.
    pub(super) fn config(diagnostics: Vec<Diagnostic>) -> Self {
        Failure { code: 2, diagnostics }
    }

    pub(super) fn usage(message: impl Into<String>) -> Self {
        Failure::config(vec![Diagnostic::error(message)])
    }

    /// The exit code, and what there is to say.
    pub(super) fn into_parts(self) -> (u8, Vec<Diagnostic>) {
        (self.code, self.diagnostics)
    }

    pub(super) fn report(self) -> ExitCode {
        output::diagnostics(&self.diagnostics);
        ExitCode::from(self.code)
    }
}

impl From<Diagnostic> for Failure {
    fn from(diagnostic: Diagnostic) -> Self {
        Failure::config(vec![diagnostic])
    }
}

impl From<&BuildError> for Failure {
    fn from(error: &BuildError) -> Self {
        match error {
            BuildError::Script(diagnostic) => Failure::failed(Diagnostic::clone(diagnostic)),
            BuildError::Unread(diagnostic) => Failure::config(vec![Diagnostic::clone(diagnostic)]),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Failure::failed(Diagnostic::error(error.to_string()))
    }
}
