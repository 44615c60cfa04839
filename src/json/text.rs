//! Small things about JSON text.

use std::sync::OnceLock;

use memchr::memmem::Finder;

use super::raw::owned;
use super::scan::behind_string;
use super::{Raw, RawRef};

/// Deeper nesting than this is refused: somebody's recursive parser behind us would fall over.
pub const MAX_DEPTH: usize = 128;

/// A value serialised once and then carried. Falls back to `null` for what JSON cannot say (a map with odd keys).
pub fn raw(value: &impl serde::Serialize) -> Raw {
    serde_json::to_string(value).map_or_else(|_| RawRef::NULL.to_owned(), owned)
}

/// Text that should be JSON.
pub fn valid(text: String) -> Result<Raw, serde_json::Error> {
    let checked: &RawRef = serde_json::from_str(&text)?;
    Ok(if checked.get().len() == text.len() { owned(text) } else { checked.to_owned() })
}

/// A string as a JSON string.
pub fn quote(text: &str) -> String {
    if text.bytes().any(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
        return serde_json::Value::from(text).to_string();
    }
    // Nearly all names and keys: nothing to escape.
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    quoted.push_str(text);
    quoted.push('"');
    quoted
}

/// Whether brackets nest deeper than [`MAX_DEPTH`]. Reads bytes only: no recursion, no allocation.
pub fn too_deep(text: &[u8]) -> bool {
    // What opens so few of them, strings and all, cannot nest deeper; counting is many times faster than following.
    let opened = |part: &[u8]| part.iter().map(|byte| u8::from(matches!(byte, b'[' | b'{'))).sum::<u8>();
    // In parts whose count fits a byte, which lets the processor count many at a time.
    text.chunks(255).map(|part| usize::from(opened(part))).sum::<usize>() > MAX_DEPTH && nests_too_deep(text)
}

fn nests_too_deep(text: &[u8]) -> bool {
    let (mut depth, mut at) = (0usize, 0);
    while let Some(byte) = text.get(at) {
        at += 1;
        match byte {
            b'"' => at = behind_string(text, at),
            b'[' | b'{' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return true;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// The text with every line break replaced by a space, as line framing and event streams need it. A raw control
/// character cannot stand inside a valid JSON string, so this changes white space only.
pub fn one_line(text: &str) -> std::borrow::Cow<'_, str> {
    if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_none() {
        return text.into();
    }
    text.replace(['\n', '\r'], " ").into()
}

/// A word that is looked for in every message, to tell at a glance whether a closer look is needed.
#[derive(Debug)]
pub struct Needle {
    text: &'static str,
    finder: OnceLock<Finder<'static>>,
}

impl Needle {
    pub const fn new(text: &'static str) -> Self {
        Needle { text, finder: OnceLock::new() }
    }

    pub fn is_in(&self, json: &str) -> bool {
        // Making a searcher costs more than searching a message.
        self.finder.get_or_init(|| Finder::new(self.text)).find(json.as_bytes()).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_quoted_as_json_wants_it() {
        for text in ["", "tools/call", "\"", "\\", "a\nb", "\u{1}", "\u{7f}", "ä\u{2028}"] {
            assert_eq!(quote(text), serde_json::to_string(text).unwrap());
        }
    }

    #[test]
    fn depth_counts_brackets_outside_strings() {
        for beginning in ["", "\\\"", "\\\\\\\""] {
            assert!(!too_deep(format!("\"{beginning}{}\"", "[".repeat(500)).as_bytes()), "{beginning}");
        }
        assert!(too_deep(format!("\"\\\\\"{}", "[".repeat(500)).as_bytes()));
        assert!(!too_deep("[],".repeat(500).as_bytes()));
        // What is no JSON is looked at all the same.
        assert!(!too_deep(b"\"never closed ["));
        assert!(!too_deep(b"\"\\"));
        assert!(!too_deep(format!("{}{}", "[".repeat(128), "]".repeat(128)).as_bytes()));
        assert!(too_deep(format!("{}{}", "[".repeat(129), "]".repeat(129)).as_bytes()));
    }

    #[test]
    fn pretty_printed_json_becomes_one_line() {
        assert_eq!(one_line("{\r\n \"a\": 1\n}"), "{   \"a\": 1 }");
    }
}
