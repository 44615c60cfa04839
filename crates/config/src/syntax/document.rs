//! The parsed config files: one tree of all of them, and their texts with secrets masked for diagnostics.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use proxy_base::diagnostic::{Diagnostic, Location};

use super::mask::{mask_all, mask_lines, mask_tree};
use super::merge::merge;
use super::tree;
use super::tree::{Node, Span, Value};

/// The spans of the tree count through the texts of all files, one after the other.
pub(crate) struct ConfigDocument {
    files: Vec<ConfigFile>,
    pub root: Node,
    /// Keys that one file has twice.
    repeated: Vec<Diagnostic>,
}

struct ConfigFile {
    name: String,
    /// Masked, because diagnostics show this text and `Location`s keep it after loading.
    source: Arc<str>,
    /// Where its text begins.
    start: usize,
    /// The base of the relative paths in it; absolute, so that it also works for children with another working directory.
    folder: PathBuf,
}

impl Default for ConfigDocument {
    fn default() -> Self {
        ConfigDocument { files: Vec::new(), root: Node { value: Value::Null, span: 0..0 }, repeated: Vec::new() }
    }
}

impl ConfigDocument {
    pub(crate) fn parse(path: &Path, text: &str) -> Result<ConfigDocument, Diagnostic> {
        let mut document = ConfigDocument::default();
        let root = document.add_file(path, text)?;
        document.root = root;
        Ok(document)
    }

    /// Parses one more file, and returns its tree, which is not yet part of the document's.
    pub(crate) fn add_file(&mut self, path: &Path, text: &str) -> Result<Node, Diagnostic> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let name = path.display().to_string();
        let mut root = tree::parse(path, text).map_err(|error| {
            // In TOML, a line in the middle of a long string looks like any other.
            let is_toml = path.extension().is_some_and(|extension| extension == "toml");
            let shown = if is_toml { mask_all(text) } else { mask_lines(text, &error.span) };
            let mut problem = Diagnostic::error(error.message).at(Location::new(name.clone(), shown, error.span));
            problem.hint = error.hint;
            problem
        })?;
        let start = self.files.last().map_or(0, |last| last.start + last.source.len() + 1);
        let source = mask_tree(text, &root).into();
        let repeated = tree::repeated_keys(&root);
        root.shift(start);
        self.files.push(ConfigFile { name, source, start, folder: folder_of(path) });
        for repeated in repeated {
            let place = |span: Span| self.place(span.start + start..span.end + start);
            let first = place(repeated.first).line();
            let problem = Diagnostic::error(format!("duplicate key `{}`", repeated.path)).at(place(repeated.span));
            self.repeated.push(problem.hint(format!("remove one of them; the first is in line {first}")));
        }
        Ok(root)
    }

    /// Makes the tree of a file part of the document; what it says wins over what is there.
    pub(crate) fn merge(&mut self, over: Node) {
        let own = std::mem::replace(&mut self.root, Node { value: Value::Null, span: 0..0 });
        self.root = merge(own, over);
    }

    /// The file that a span lies in, and the span in its text.
    fn file_at(&self, span: &Span) -> Option<(&ConfigFile, Span)> {
        let file = self.files.iter().rev().find(|file| file.start <= span.start)?;
        Some((file, span.start - file.start..span.end.saturating_sub(file.start)))
    }

    pub(crate) fn place(&self, span: Span) -> Location {
        match self.file_at(&span) {
            Some((file, span)) => Location { file: file.name.clone(), source: Arc::clone(&file.source), span },
            None => Location::new("", "", 0..0),
        }
    }

    /// The text of the first file, masked.
    pub(crate) fn source(&self) -> &str {
        self.files.first().map_or("", |file| &file.source)
    }

    /// The text at a span, masked if it is secret.
    pub(crate) fn shown(&self, span: &Span) -> &str {
        self.file_at(span).and_then(|(file, span)| file.source.get(span)).unwrap_or("")
    }

    /// The folder of the file that a span lies in.
    pub(crate) fn folder(&self, span: &Span) -> &Path {
        self.file_at(span).map_or(Path::new(""), |(file, _)| &file.folder)
    }

    pub(crate) fn repeated_keys(&self) -> impl Iterator<Item = Diagnostic> {
        self.repeated.iter().cloned()
    }

    /// The order of diagnostics: by file, and then by place.
    pub(crate) fn order(&self, diagnostic: &Diagnostic) -> (usize, usize) {
        let Some(place) = &diagnostic.place else { return (0, 0) };
        let file = self.files.iter().position(|file| file.name == place.file);
        (file.unwrap_or(usize::MAX), place.span.start)
    }
}

/// The folder of a file, as an absolute path.
pub(crate) fn folder_of(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute.parent().map(Path::to_owned).unwrap_or_default()
}
