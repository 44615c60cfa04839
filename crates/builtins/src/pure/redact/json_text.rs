//! Redacts JSON as text, for display to people. Numbers, keys and order stay exactly as written.

use super::detectors::{DETECTORS, replaced};

/// Parts of member names that mark a value as secret, regardless of its shape.
const SECRET_NAMES: [&str; 10] = [
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "api_key",
    "credential",
    "cookie",
    "authorization",
];

/// JSON within strings of JSON is looked into up to this depth.
const MAX_DEPTH: usize = 3;

/// The JSON text with personal data and secrets in its strings replaced, as `redact()` does, and also the strings of members
/// whose names say that they are secret. The text may have been cut off.
pub fn redacted_json(text: &str) -> String {
    redacted_within(text, 0)
}

/// A text with personal data and secrets replaced, as `redact()` does.
pub fn redacted_text(text: &str) -> String {
    redacted("", text, 0).unwrap_or_else(|| text.to_owned())
}

fn redacted_within(text: &str, depth: usize) -> String {
    let mut out = String::with_capacity(text.len());
    // The name of the last member: that of all elements of a list.
    let (mut rest, mut name) = (text, String::new());
    while let Some(start) = rest.find('"') {
        let (before, from) = rest.split_at(start);
        out.push_str(before);
        let end = end_of_string(from);
        let (literal, behind) = from.split_at(end);
        let content = content(literal);
        if behind.trim_start().starts_with(':') {
            out.push_str(literal);
            name = content;
        } else {
            match redacted(&name, &content, depth) {
                Some(hidden) => out.push_str(&serde_json::Value::from(hidden).to_string()),
                None => out.push_str(literal),
            }
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// What to show instead of a string; `None` if it may be seen.
fn redacted(name: &str, content: &str, depth: usize) -> Option<String> {
    let name = name.to_lowercase().replace('-', "_");
    if !content.is_empty() && SECRET_NAMES.iter().any(|part| name.contains(part)) {
        return Some("[secret]".to_owned());
    }
    // The text of a result is often JSON itself.
    let is_json = depth < MAX_DEPTH && content.starts_with(['{', '[']);
    let inner = is_json.then(|| redacted_within(content, depth + 1)).filter(|inner| inner != content);
    replaced(inner.as_deref().unwrap_or(content), &DETECTORS.each_ref()).or(inner)
}

/// The length of the string literal at the beginning of the text, with its quotes.
fn end_of_string(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Decodes a string literal. A literal that is cut off, or has half a surrogate pair, is returned as it is.
fn content(literal: &str) -> String {
    serde_json::from_str(literal).unwrap_or_else(|_| literal.trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_redacted_and_everything_else_stays() {
        let text = r#"{"n": 1.10, "to": ["ann@example.com", "x\ny"], "email@example.com": 12345678901234567890}"#;
        assert_eq!(
            redacted_json(text),
            r#"{"n": 1.10, "to": ["[email]", "x\ny"], "email@example.com": 12345678901234567890}"#
        );
        assert_eq!(redacted_json(r#""call 555-123-4567 \"now\"""#), r#""call [phone] \"now\"""#);
        assert_eq!(redacted_json(r#"{"lone": "\ud800 ann@example.com"}"#), r#"{"lone": "\\ud800 [email]"}"#);
        assert_eq!(redacted_json("[]"), "[]");
    }

    #[test]
    fn members_with_secret_names_are_hidden_whatever_they_hold() {
        let text =
            r#"{"password":"hunter2","X-Api-Key":"k","names":["a"],"tokens":["t","u"],"max_tokens":5,"secret":""}"#;
        assert_eq!(
            redacted_json(text),
            r#"{"password":"[secret]","X-Api-Key":"[secret]","names":["a"],"tokens":["[secret]","[secret]"],"max_tokens":5,"secret":""}"#
        );
    }

    #[test]
    fn json_within_a_string_is_looked_into() {
        let text = r#"{"text":"{\"password\": \"plain\", \"n\": 1.10}"}"#;
        assert_eq!(redacted_json(text), r#"{"text":"{\"password\": \"[secret]\", \"n\": 1.10}"}"#);
        assert_eq!(redacted_json(r#""[INFO] to ann@example.com""#), r#""[INFO] to [email]""#);
    }

    #[test]
    fn a_text_that_was_cut_off_is_redacted_to_its_end() {
        assert_eq!(redacted_json(r#"{"a":"mail ann@example.com and"#), r#"{"a":"mail [email] and""#);
        assert_eq!(redacted_json(r#"{"password":"hun"#), r#"{"password":"[secret]""#);
        assert_eq!(redacted_json(r#"{"a":"b\"#), r#"{"a":"b\"#);
    }
}
