//! An error that a built-in raises: what is wrong and, where it can be known, what to do.

use std::fmt;

use crate::diagnostic::{Diagnostic, Place};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    pub message: String,
    /// More of it, below the place: what differs, what there is.
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

    /// The same as a diagnostic, where it is known which text it is about.
    pub fn at(self, place: Place) -> Diagnostic {
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
    fn from(complaint: ScriptError) -> Self {
        starlark::Error::new_native(complaint)
    }
}

/// A complaint without a hint, as the error of a built-in.
pub fn script_error(message: impl Into<String>) -> starlark::Error {
    ScriptError::new(message).into()
}
