//! The text of a script and where it came from.

use std::path::PathBuf;
use std::sync::Arc;

use super::files::Files;

/// Longer files are refused: nobody wrote them by hand, and the parser's stack grows with them.
pub const MAX_SOURCE: usize = 1 << 20;

/// One version of a script. Its clones share the files that it loads.
#[derive(Clone, Debug)]
pub struct Source {
    /// Shown in errors.
    pub name: String,
    pub text: Arc<str>,
    /// For `load()` of files beside it; a script without one loads from the root.
    pub path: Option<PathBuf>,
    /// What it loads.
    pub files: Arc<Files>,
}

impl Source {
    pub fn new(name: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        Source { name: name.into(), text: text.into(), path: None, files: Arc::default() }
    }

    /// The text of a file.
    pub fn at(name: impl Into<String>, text: impl Into<Arc<str>>, path: impl Into<PathBuf>) -> Self {
        Source { path: Some(path.into()), ..Source::new(name, text) }
    }

    /// Every file that a change of this script can come from: its own, and those it loads or would load.
    pub fn paths(&self) -> impl Iterator<Item = PathBuf> {
        self.path.iter().cloned().chain(self.files.paths())
    }

    /// Its files that read otherwise by now. Blocking.
    pub fn outdated(&self) -> Vec<PathBuf> {
        let same = |path: &&PathBuf| std::fs::read_to_string(path).is_ok_and(|text| *text == *self.text);
        let own = self.path.iter().filter(|path| !same(path)).cloned();
        own.chain(self.files.outdated()).collect()
    }
}
