//! A parsed config file: its tree, and its text with secrets masked for diagnostics.

use std::path::Path;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Location};

use super::mask::{mask_all, mask_lines, mask_tree};
use super::tree;
use super::tree::{Node, Span};

pub(crate) struct ConfigDocument {
    file: String,
    /// Masked, because diagnostics show this text and `Location`s keep it after loading.
    source: Arc<str>,
    pub root: Node,
}

impl ConfigDocument {
    pub(crate) fn parse(path: &Path, text: &str) -> Result<ConfigDocument, Diagnostic> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let file = path.display().to_string();
        match tree::parse(path, text) {
            Ok(root) => Ok(ConfigDocument { file, source: mask_tree(text, &root).into(), root }),
            Err(error) => {
                // In TOML, a line in the middle of a long string looks like any other.
                let is_toml = path.extension().is_some_and(|extension| extension == "toml");
                let shown = if is_toml { mask_all(text) } else { mask_lines(text, &error.span) };
                let mut problem = Diagnostic::error(error.message).at(Location::new(file, shown, error.span));
                problem.hint = error.hint;
                Err(problem)
            }
        }
    }

    pub(crate) fn place(&self, span: Span) -> Location {
        Location { file: self.file.clone(), source: self.source.clone(), span }
    }

    /// The text at a span, masked if it is secret.
    pub(crate) fn shown(&self, span: &Span) -> &str {
        self.source.get(span.clone()).unwrap_or("")
    }

    pub(crate) fn repeated_keys(&self) -> impl Iterator<Item = Diagnostic> {
        tree::repeated_keys(&self.root).into_iter().map(|repeated| {
            let first = self.place(repeated.first).line();
            Diagnostic::error(format!("duplicate key `{}`", repeated.path))
                .at(self.place(repeated.span))
                .hint(format!("remove one of them; the first is in line {first}"))
        })
    }
}
