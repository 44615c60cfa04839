//! The text of a script and where it came from.

use std::path::PathBuf;
use std::sync::Arc;

/// Longer files are refused: nobody wrote them by hand, and the parser's stack grows with them.
pub const MAX_SOURCE: usize = 1 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Shown in errors.
    pub name: String,
    pub text: Arc<str>,
    /// For `load()` of files beside it; a script without one loads from the root.
    pub path: Option<PathBuf>,
}

impl Source {
    pub fn new(name: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        Source { name: name.into(), text: text.into(), path: None }
    }
}
