//! A config file that has been read: its tree, and its text as diagnostics may show it.

use std::path::Path;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Place};

use super::mask::{mask_lines, mask_tree};
use super::tree;
use super::tree::{Node, Span};

pub(crate) struct ConfigDocument {
    file: String,
    /// Masked: this text ends up in diagnostics and in `Place`s that outlive the loading.
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
                let shown = mask_lines(text, &error.span);
                Err(Diagnostic::error(error.message).at(Place::new(file, shown, error.span)))
            }
        }
    }

    pub(crate) fn place(&self, span: Span) -> Place {
        Place { file: self.file.clone(), source: self.source.clone(), span }
    }

    /// The text at a span, as written unless it is secret.
    pub(crate) fn shown(&self, span: &Span) -> &str {
        self.source.get(span.clone()).unwrap_or("")
    }

    pub(crate) fn repeated_keys(&self) -> impl Iterator<Item = Diagnostic> {
        tree::repeated_keys(&self.root).into_iter().map(|(path, span)| {
            Diagnostic::error(format!("the key `{path}` is written twice"))
                .at(self.place(span))
                .hint("keep one of them")
        })
    }
}
