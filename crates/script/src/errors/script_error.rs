//! An error that a built-in raises.

use std::fmt;

use proxy_base::diagnostic::{Diagnostic, Location};

/// What is wrong and, if known, how to fix it. A built-in raises it into the script; the engine adds the position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    pub message: String,
    /// Details, shown below the source line.
    pub notes: Vec<String>,
    pub hint: Option<String>,
}

impl ScriptError {
    pub fn new(message: impl Into<String>) -> Self {
        ScriptError { message: message.into(), notes: Vec::new(), hint: None }
    }

    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// This error as a diagnostic at a known position.
    pub fn at(self, place: Location) -> Diagnostic {
        let diagnostic = Diagnostic::error(self.message).at(place);
        match self.hint {
            Some(hint) => diagnostic.hint(hint),
            None => diagnostic,
        }
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for ScriptError {}

impl From<ScriptError> for starlark::Error {
    fn from(error: ScriptError) -> Self {
        starlark::Error::new_native(error)
    }
}

/// A [`ScriptError`] without a hint, as an error of the engine.
pub fn script_error(message: impl Into<String>) -> starlark::Error {
    ScriptError::new(message).into()
}
