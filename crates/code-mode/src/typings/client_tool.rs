//! What a generated function needs to know about its tool.

use proxy_model::Definition;

/// A tool that a generated function calls.
#[derive(Debug)]
pub struct ClientTool<'a> {
    pub definition: &'a Definition,
    /// The arguments that are also sent as `Mcp-Param-*` headers.
    pub headers: Vec<HeaderArgument>,
}

impl ClientTool<'_> {
    /// The argument of a call that says what is also sent as headers, if there is something: pairs of a path and a name, in
    /// the brackets and literals of a language.
    pub(super) fn header_list(&self, [open, close]: [&str; 2], literal: fn(&str) -> String) -> String {
        if self.headers.is_empty() {
            return String::new();
        }
        let pairs = self.headers.iter().map(|header| {
            let path: Vec<String> = header.path.iter().map(|key| literal(key)).collect();
            format!("{open}[{}], {}{close}", path.join(", "), literal(&header.suffix))
        });
        format!(", [{}]", pairs.collect::<Vec<_>>().join(", "))
    }
}

#[derive(Debug)]
pub struct HeaderArgument {
    /// The keys that lead to the argument.
    pub path: Vec<String>,
    /// The end of the name of the header.
    pub suffix: String,
}

/// A string literal of JavaScript without other characters than ASCII.
pub(super) fn ascii_literal(text: &str) -> String {
    let mut literal = String::from('"');
    for unit in text.encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte @ (b'"' | b'\\')) => literal.extend(['\\', char::from(byte)]),
            Ok(byte @ 0x20..=0x7e) => literal.push(char::from(byte)),
            _ => literal.push_str(&format!("\\u{unit:04x}")),
        }
    }
    literal + "\""
}
