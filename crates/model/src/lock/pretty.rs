//! The layout of JSON in a lock file: one member per line, with numbers and escapes as they were sent.

use proxy_base::foreign_text::json_visible;
use proxy_json::{Raw, RawRef};

const INDENT: &str = "  ";

/// The value with one member per line, below a line with this indentation. Hidden characters become `\u` escapes, so that
/// a review sees them.
pub fn pretty(value: &RawRef, depth: usize) -> String {
    let visible = json_visible(value.get());
    let mut out = String::with_capacity(visible.len() * 2);
    let mut depth = depth;
    let mut tokens = Tokens { rest: &visible }.peekable();
    while let Some(token) = tokens.next() {
        match token {
            "{" | "[" => {
                out.push_str(token);
                if let Some(close) = tokens.next_if(|next| matches!(*next, "}" | "]")) {
                    out.push_str(close);
                } else {
                    depth += 1;
                    new_line(&mut out, depth);
                }
            }
            "}" | "]" => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push_str(token);
            }
            "," => {
                out.push(',');
                new_line(&mut out, depth);
            }
            ":" => out.push_str(": "),
            other => out.push_str(other),
        }
    }
    out
}

/// The value without white space between its parts, and with hidden characters as escapes: the text that a lock file gives
/// back.
pub(super) fn compact(value: &RawRef) -> Raw {
    let visible = json_visible(value.get());
    let text: String = Tokens { rest: &visible }.collect();
    proxy_json::valid(text).unwrap_or_else(|_| value.to_owned())
}

pub(super) fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    for _ in 0..depth {
        out.push_str(INDENT);
    }
}

/// The parts of valid JSON: brackets, commas, colons, strings, numbers and words.
struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let first = *self.rest.as_bytes().first()?;
        let length = match first {
            b'{' | b'}' | b'[' | b']' | b',' | b':' => 1,
            b'"' => end_of_string(self.rest.as_bytes()),
            _ => self.rest.find([',', '}', ']', ' ', '\t', '\r', '\n']).unwrap_or(self.rest.len()),
        };
        let (token, rest) = self.rest.split_at(length);
        self.rest = rest;
        Some(token)
    }
}

/// The length of the string at the beginning, with its quotes.
fn end_of_string(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_have_their_own_lines_and_their_own_spelling() {
        let sent = proxy_json::valid(r#"{ "n":1.10,"e":{},"l":[ ],"a":["\u00e9, \"x\"",true],"o":{"k":-1e5} }"#.into())
            .unwrap();
        let shown = "{\n  \"n\": 1.10,\n  \"e\": {},\n  \"l\": [],\n  \"a\": [\n    \"\\u00e9, \\\"x\\\"\",\n    true\n  ],\n  \
                     \"o\": {\n    \"k\": -1e5\n  }\n}";
        assert_eq!(pretty(&sent, 0), shown);
        assert_eq!(compact(&sent).get(), r#"{"n":1.10,"e":{},"l":[],"a":["\u00e9, \"x\"",true],"o":{"k":-1e5}}"#);
    }

    #[test]
    fn hidden_characters_are_escapes() {
        let sent = proxy_json::valid("{\"d\":\"a\u{202e}b\u{200b}\u{e0041}\"}".into()).unwrap();
        assert_eq!(pretty(&sent, 0), "{\n  \"d\": \"a\\u202eb\\u200b\\udb40\\udc41\"\n}");
    }
}
