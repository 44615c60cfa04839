//! The error of a command, with its exit code.

use std::process::ExitCode;

use super::output;
use proxy_base::diagnostic::Diagnostic;
use proxy_engine::surface::BuildError;

#[derive(Debug)]
pub(super) struct CommandFailure {
    code: u8,
    diagnostics: Vec<Diagnostic>,
}

impl CommandFailure {
    /// The operation failed: exit code 1.
    pub(super) fn failed(diagnostic: Diagnostic) -> Self {
        CommandFailure { code: 1, diagnostics: vec![diagnostic] }
    }

    /// A failure whose reason the command has already printed.
    pub(super) fn already_reported(code: u8) -> Self {
        CommandFailure { code, diagnostics: Vec::new() }
    }

    /// The config or the usage is wrong: exit code 2.
    pub(super) fn config(diagnostics: Vec<Diagnostic>) -> Self {
        CommandFailure { code: 2, diagnostics }
    }

    pub(super) fn usage(message: impl Into<String>) -> Self {
        CommandFailure::config(vec![Diagnostic::error(message)])
    }

    pub(super) fn usage_with_hint(message: impl Into<String>, hint: &str) -> Self {
        CommandFailure::config(vec![Diagnostic::error(message).hint(hint)])
    }

    /// The failure with a note to each message, if there is one.
    pub(super) fn with_note(mut self, note: Option<String>) -> Self {
        if let Some(note) = note {
            self.diagnostics = self.diagnostics.into_iter().map(|diagnostic| diagnostic.note(note.clone())).collect();
        }
        self
    }

    /// The exit code and the messages.
    pub(super) fn into_parts(self) -> (u8, Vec<Diagnostic>) {
        (self.code, self.diagnostics)
    }

    pub(super) fn report(self) -> ExitCode {
        output::diagnostics(&self.diagnostics);
        ExitCode::from(self.code)
    }
}

impl From<Diagnostic> for CommandFailure {
    fn from(diagnostic: Diagnostic) -> Self {
        CommandFailure::config(vec![diagnostic])
    }
}

impl From<&BuildError> for CommandFailure {
    fn from(error: &BuildError) -> Self {
        match error {
            BuildError::Script(diagnostic) => CommandFailure::failed(Diagnostic::clone(diagnostic)),
            BuildError::Unread { .. } => CommandFailure::config(error.diagnostics().cloned().collect()),
        }
    }
}

impl From<std::io::Error> for CommandFailure {
    fn from(error: std::io::Error) -> Self {
        CommandFailure::failed(Diagnostic::error(error.to_string()))
    }
}
