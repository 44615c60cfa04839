//! Open documents, and positions in them. The protocol counts positions in UTF-16 code units.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lsp_types::{Position, Uri};
use url::Url;

use proxy_script::Source;

/// The text of a script.
#[derive(Clone, Debug)]
pub(super) struct ScriptDocument {
    /// None for a document that is not a file.
    pub path: Option<PathBuf>,
    /// The name in diagnostics.
    name: String,
    pub text: Arc<str>,
}

/// A document that the client has opened.
#[derive(Clone, Debug)]
pub(super) struct OpenDocument {
    pub uri: Uri,
    pub version: i32,
    pub document: ScriptDocument,
}

impl OpenDocument {
    pub(super) fn new(uri: Uri, version: i32, text: String) -> Self {
        let path = path_of(&uri);
        let name = path.as_ref().map_or_else(|| uri.as_str().to_owned(), |path| path.display().to_string());
        OpenDocument { uri, version, document: ScriptDocument { path, name, text: text.into() } }
    }
}

impl ScriptDocument {
    pub(super) fn at(path: PathBuf, text: &str) -> Self {
        ScriptDocument { name: path.display().to_string(), path: Some(path), text: text.into() }
    }

    /// The document as the source of a script.
    pub(super) fn source(&self) -> Source {
        Source { path: self.path.clone(), ..Source::new(self.name.clone(), self.text.clone()) }
    }

    /// The byte offset of a position. A position beyond the end of its line is the end of the line.
    pub(super) fn offset(&self, position: Position) -> usize {
        let mut start = 0;
        for _ in 0..position.line {
            match self.text[start..].find('\n') {
                Some(end) => start += end + 1,
                None => return self.text.len(),
            }
        }
        let line = self.text[start..].lines().next().unwrap_or_default();
        let mut units = 0;
        for (byte, character) in line.char_indices() {
            if units >= position.character as usize {
                return start + byte;
            }
            units += character.len_utf16();
        }
        start + line.len()
    }

    /// The offset at which the line of `offset` starts, and the text from there to `offset`.
    pub(super) fn line_before(&self, offset: usize) -> (usize, &str) {
        let start = self.text[..offset].rfind('\n').map_or(0, |newline| newline + 1);
        (start, &self.text[start..offset])
    }
}

pub(super) fn range(text: &str, span: &Range<usize>) -> lsp_types::Range {
    lsp_types::Range::new(position(text, span.start), position(text, span.end))
}

fn position(text: &str, offset: usize) -> Position {
    let before = text.get(..offset.min(text.len())).unwrap_or_default();
    let line = before.matches('\n').count();
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let units: usize = before[start..].chars().map(char::len_utf16).sum();
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Position::new(number(line), number(units))
}

/// The path of a `file:` URI.
pub(super) fn path_of(uri: &Uri) -> Option<PathBuf> {
    Url::parse(uri.as_str()).ok().filter(|url| url.scheme() == "file")?.to_file_path().ok()
}

/// The `file:` URI of an absolute path. `Url::from_file_path` leaves characters such as `[` as they are, which RFC 3986
/// and so [`Uri`] do not allow.
pub(super) fn uri_of(path: &Path) -> Option<Uri> {
    let mut uri = "file://".to_owned();
    for byte in path.to_string_lossy().bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~@".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_counted_in_utf_16() {
        let text = "a = 1\nb = '😀ü' + c\n";
        let document = ScriptDocument::at(PathBuf::from("/x.star"), text);
        let offset = text.find('c').unwrap();
        let found = position(text, offset);
        assert_eq!(found, Position::new(1, 12));
        assert_eq!(document.offset(found), offset);
        assert_eq!(document.offset(Position::new(0, 99)), 5);
        assert_eq!(document.offset(Position::new(9, 0)), text.len());
        assert_eq!(document.line_before(offset), (6, "b = '😀ü' + "));
    }

    #[test]
    fn paths_become_uris_and_back() {
        for (path, uri) in [
            ("/home/a b/ü.star", "file:///home/a%20b/%C3%BC.star"),
            ("/home/[a]/{b}^|`\\%.star", "file:///home/%5Ba%5D/%7Bb%7D%5E%7C%60%5C%25.star"),
        ] {
            let path = PathBuf::from(path);
            let found = uri_of(&path).unwrap();
            assert_eq!(found.as_str(), uri);
            assert_eq!(path_of(&found), Some(path));
        }
        assert_eq!(path_of(&"untitled:1".parse().unwrap()), None);
    }
}
