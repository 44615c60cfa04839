//! Small things about JSON text.

use super::{Raw, RawRef};

/// Deeper nesting than this is refused: somebody's recursive parser behind us would fall over.
pub const MAX_DEPTH: usize = 128;

/// A value serialised once and then carried. Falls back to `null` for what JSON cannot say (a map with odd keys).
pub fn raw(value: &impl serde::Serialize) -> Raw {
    serde_json::value::to_raw_value(value).unwrap_or_else(|_| RawRef::NULL.to_owned())
}

/// Text that is known to be JSON, checked all the same.
pub fn valid(text: String) -> Result<Raw, serde_json::Error> {
    RawRef::from_string(text)
}

/// A string as a JSON string.
pub fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Whether brackets nest deeper than [`MAX_DEPTH`]. Reads bytes only: no recursion, no allocation.
pub fn too_deep(text: &[u8]) -> bool {
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

/// Where the string ends that has begun before. In leaps: most of a long message is one.
fn behind_string(text: &[u8], mut at: usize) -> usize {
    while let Some(found) = text.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found;
        if text[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    text.len()
}

/// The text with every line break replaced by a space, as line framing and event streams need it. A raw control
/// character cannot stand inside a valid JSON string, so this changes white space only.
pub fn one_line(text: &str) -> std::borrow::Cow<'_, str> {
    if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_none() {
        return text.into();
    }
    text.replace(['\n', '\r'], " ").into()
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
