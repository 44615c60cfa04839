//! Why a command did not do what was asked, and the exit code that says so.

use std::process::ExitCode;

use super::output;
use crate::diagnostic::Diagnostic;

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
        Failure { code: 1, diagnostics: Vec::new() }
    }

    /// The config, or the way the command was called, is wrong.
    pub(super) fn config(diagnostics: Vec<Diagnostic>) -> Self {
        Failure { code: 2, diagnostics }
    }

    pub(super) fn usage(message: impl Into<String>) -> Self {
        Failure::config(vec![Diagnostic::error(message)])
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

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Failure::failed(Diagnostic::error(error.to_string()))
    }
}
