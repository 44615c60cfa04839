//! Checks and searches of JSON text that do not parse it.

use std::sync::OnceLock;

use memchr::memmem::Finder;

use super::scan::{end_of_string, skip_space};

/// The maximum nesting depth of a message: a recursive parser of a client or server would overflow its stack.
pub const MAX_DEPTH: usize = 128;

/// Whether brackets nest deeper than [`MAX_DEPTH`]. Reads bytes only: no recursion, no allocation.
pub fn too_deep(text: &[u8]) -> bool {
    // A text with few opening brackets, including those in strings, cannot nest deeply. Counting them is many times
    // faster than tracking the depth.
    let opened = |part: &[u8]| part.iter().map(|byte| u8::from(matches!(byte, b'[' | b'{'))).sum::<u8>();
    // A count of at most 255 fits a byte, so that the compiler can vectorize the loop.
    text.chunks(255).map(|part| usize::from(opened(part))).sum::<usize>() > MAX_DEPTH && nests_too_deep(text)
}

fn nests_too_deep(text: &[u8]) -> bool {
    let (mut depth, mut at) = (0usize, 0);
    while let Some(byte) = text.get(at) {
        at += 1;
        match byte {
            b'"' => at = end_of_string(text, at),
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

/// A text that is searched for in every message, to find out cheaply whether the message must be parsed.
#[derive(Debug)]
pub struct Needle {
    text: &'static str,
    finder: OnceLock<Finder<'static>>,
}

impl Needle {
    pub const fn new(text: &'static str) -> Self {
        Needle { text, finder: OnceLock::new() }
    }

    /// Whether the text occurs anywhere.
    pub fn is_in(&self, json: &str) -> bool {
        self.finder().find(json.as_bytes()).is_some()
    }

    /// Whether a member whose name is this text, which has its quotes, has a value that begins with such a byte, anywhere
    /// in the message.
    pub fn has_value(&self, json: &str, begins: impl Fn(u8) -> bool) -> bool {
        let json = json.as_bytes();
        self.finder().find_iter(json).any(|at| {
            let colon = skip_space(json, at + self.text.len());
            json.get(colon) == Some(&b':') && json.get(skip_space(json, colon + 1)).is_some_and(|byte| begins(*byte))
        })
    }

    /// Building a searcher costs more than searching one message.
    fn finder(&self) -> &Finder<'static> {
        self.finder.get_or_init(|| Finder::new(self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_brackets_outside_strings() {
        for beginning in ["", "\\\"", "\\\\\\\""] {
            assert!(!too_deep(format!("\"{beginning}{}\"", "[".repeat(500)).as_bytes()), "{beginning}");
        }
        assert!(too_deep(format!("\"\\\\\"{}", "[".repeat(500)).as_bytes()));
        assert!(!too_deep("[],".repeat(500).as_bytes()));
        // Text that is not JSON is scanned all the same.
        assert!(!too_deep(b"\"never closed ["));
        assert!(!too_deep(b"\"\\"));
        assert!(!too_deep(format!("{}{}", "[".repeat(128), "]".repeat(128)).as_bytes()));
        assert!(too_deep(format!("{}{}", "[".repeat(129), "]".repeat(129)).as_bytes()));
    }

    #[test]
    fn a_value_is_known_by_its_first_byte_wherever_its_member_stands() {
        static NEEDLE: Needle = Needle::new("\"a\"");
        let has_true = |json: &str| NEEDLE.has_value(json, |byte| byte == b't');
        for json in ["{\"a\":true}", "{\"a\" :\n true}", "{\"a\":false,\"b\":[{\"a\":true}]}"] {
            assert!(has_true(json), "{json}");
        }
        for json in
            ["{}", "{\"a\":false}", "{\"b\":\"a\"}", "[\"a\", true]", "{\"b\":\"\\\"a\\\":true\"}", "{\"a\":", "{\"a\""]
        {
            assert!(!has_true(json), "{json}");
        }
    }

    #[test]
    fn pretty_printed_json_becomes_one_line() {
        assert_eq!(one_line("{\r\n \"a\": 1\n}"), "{   \"a\": 1 }");
    }
}
