//! An open file: its text, and the places in it as editors count them, in UTF-16 units.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::script::Source;

#[derive(Clone, Debug)]
pub(super) struct Document {
    pub uri: String,
    pub version: Option<i64>,
    pub text: Arc<str>,
}

impl Document {
    pub(super) fn path(&self) -> Option<PathBuf> {
        path_of(&self.uri)
    }

    /// The same as a script.
    pub(super) fn source(&self) -> Source {
        let path = self.path();
        let name = path.as_ref().map_or_else(|| self.uri.clone(), |path| path.display().to_string());
        Source { path, ..Source::new(name, self.text.clone()) }
    }

    /// The byte that a position means; one behind the end of its line is that end.
    pub(super) fn offset(&self, position: &Value) -> usize {
        let line = position["line"].as_u64().unwrap_or(0) as usize;
        let wanted = position["character"].as_u64().unwrap_or(0) as usize;
        let mut start = 0;
        for _ in 0..line {
            match self.text[start..].find('\n') {
                Some(end) => start += end + 1,
                None => return self.text.len(),
            }
        }
        let line = self.text[start..].lines().next().unwrap_or_default();
        let mut units = 0;
        for (byte, character) in line.char_indices() {
            if units >= wanted {
                return start + byte;
            }
            units += character.len_utf16();
        }
        start + line.len()
    }

    /// The text of the line up to a place, and where that line begins.
    pub(super) fn before(&self, offset: usize) -> (usize, &str) {
        let start = self.text[..offset].rfind('\n').map_or(0, |newline| newline + 1);
        (start, &self.text[start..offset])
    }
}

pub(super) fn range(text: &str, span: &Range<usize>) -> Value {
    json!({"start": position(text, span.start), "end": position(text, span.end)})
}

fn position(text: &str, offset: usize) -> Value {
    let before = text.get(..offset.min(text.len())).unwrap_or_default();
    let line = before.matches('\n').count();
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let units: usize = before[start..].chars().map(char::len_utf16).sum();
    json!({"line": line, "character": units})
}

/// The file that a `file:` address means.
pub(super) fn path_of(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    // An authority other than this machine is nobody's file here.
    let path = &rest[rest.find('/')?..];
    let mut bytes = Vec::with_capacity(path.len());
    let mut left = path.bytes();
    while let Some(byte) = left.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [left.next()?, left.next()?];
        bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
    }
    Some(PathBuf::from(String::from_utf8(bytes).ok()?))
}

/// The address of a file.
pub(super) fn uri_of(path: &std::path::Path) -> String {
    let mut uri = "file://".to_owned();
    for byte in path.to_string_lossy().bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~@".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_as_editors_do() {
        let text = "a = 1\nb = '😀ü' + c\n";
        let document = Document { uri: "file:///x.star".to_owned(), version: None, text: text.into() };
        let at = text.find('c').unwrap();
        let place = position(text, at);
        assert_eq!(place, json!({"line": 1, "character": 12}));
        assert_eq!(document.offset(&place), at);
        assert_eq!(document.offset(&json!({"line": 0, "character": 99})), 5);
        assert_eq!(document.offset(&json!({"line": 9, "character": 0})), text.len());
        assert_eq!(document.before(at), (6, "b = '😀ü' + "));
    }

    #[test]
    fn addresses_and_files() {
        let path = PathBuf::from("/home/a b/ü.star");
        assert_eq!(uri_of(&path), "file:///home/a%20b/%C3%BC.star");
        assert_eq!(path_of(&uri_of(&path)), Some(path));
        assert_eq!(path_of("untitled:1"), None);
    }
}
