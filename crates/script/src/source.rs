//! The text of a script and its origin.

use std::path::PathBuf;
use std::sync::Arc;

use crate::files::Files;

/// The maximum size of a source file in bytes. The stack that the parser needs grows with the file.
pub const MAX_SOURCE: usize = 1 << 20;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// The text of a file as scripts are kept. Some editors write a byte-order mark at the beginning.
pub(super) fn without_byte_order_mark(text: &str) -> &str {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// One version of a script. Clones share the files that it loads.
#[derive(Clone, Debug)]
pub struct Source {
    /// The name in errors.
    pub name: String,
    pub text: Arc<str>,
    /// The base of relative paths in `load()`. Without one, they are relative to the root.
    pub path: Option<PathBuf>,
    /// The files that it loads.
    pub files: Arc<Files>,
}

impl Source {
    pub fn new(name: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        let text: Arc<str> = text.into();
        let text = if text.starts_with(BYTE_ORDER_MARK) { without_byte_order_mark(&text).into() } else { text };
        Source { name: name.into(), text, path: None, files: Arc::default() }
    }

    /// The text of a file.
    pub fn at(name: impl Into<String>, text: impl Into<Arc<str>>, path: impl Into<PathBuf>) -> Self {
        Source { path: Some(path.into()), ..Source::new(name, text) }
    }

    /// Every file to watch for changes: the script's own, and those it loads or tried to load.
    pub fn paths(&self) -> impl Iterator<Item = PathBuf> {
        self.path.iter().cloned().chain(self.files.paths())
    }

    /// The files that have changed since they were read. Blocking.
    pub fn outdated(&self) -> Vec<PathBuf> {
        let same = |path: &&PathBuf| {
            std::fs::read_to_string(path).is_ok_and(|text| *without_byte_order_mark(&text) == *self.text)
        };
        let own = self.path.iter().filter(|path| !same(path)).cloned();
        own.chain(self.files.outdated()).collect()
    }
}
