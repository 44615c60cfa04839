//! A config file as a tree of nodes with source positions, for YAML, JSON with comments, and TOML.

mod json;
mod lines;
mod scalar;
mod toml;
mod yaml;
mod yaml_cure;

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

pub(super) use scalar::plain as plain_scalar;

/// Maximum nesting depth of maps and lists.
const MAX_DEPTH: usize = 100;

/// Byte offsets into the text of the file.
pub(crate) type Span = Range<usize>;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NodeKey {
    pub text: String,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    /// As written; the reader checks the range.
    Number(String),
    String(String),
    /// A YAML `|` block: a string whose lines are lines of the file.
    Block(String),
    List(Vec<Node>),
    /// In file order; a duplicate key occurs twice.
    Map(Vec<(NodeKey, Node)>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub value: Value,
    pub span: Span,
}

impl Node {
    /// Moves the spans of this node and of everything in it.
    pub(super) fn shift(&mut self, by: usize) {
        let shift = |span: &mut Span| *span = span.start + by..span.end + by;
        shift(&mut self.span);
        match &mut self.value {
            Value::List(items) => items.iter_mut().for_each(|item| item.shift(by)),
            Value::Map(entries) => {
                for (key, value) in entries {
                    shift(&mut key.span);
                    value.shift(by);
                }
            }
            _ => {}
        }
    }

    /// The value of a key, if this is a map with that key.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        let Value::Map(entries) = &self.value else { return None };
        entries.iter().find(|(candidate, _)| candidate.text == key).map(|(_, node)| node)
    }
}

/// A syntax error with its position.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SyntaxError {
    pub message: String,
    pub span: Span,
    /// How to correct it, if the cause is known.
    pub hint: Option<String>,
}

impl SyntaxError {
    fn new(message: impl Into<String>, span: Span) -> Self {
        SyntaxError { message: message.into(), span, hint: None }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Parses JSON if the file extension is `.json` or `.jsonc`, TOML if it is `.toml`, or else YAML.
pub(crate) fn parse(path: &Path, text: &str) -> Result<Node, SyntaxError> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("json" | "jsonc") => json::parse(text),
        Some("toml") => toml::parse(text),
        _ => yaml::parse(text),
    }
}

/// A key that a map has already.
pub(crate) struct RepeatedKey {
    pub path: String,
    pub span: Span,
    pub first: Span,
}

/// All duplicate keys with their paths.
pub(crate) fn repeated_keys(root: &Node) -> Vec<RepeatedKey> {
    let mut found = Vec::new();
    collect_repeated(root, "", &mut found);
    found
}

fn collect_repeated(node: &Node, path: &str, found: &mut Vec<RepeatedKey>) {
    match &node.value {
        Value::List(items) => {
            for (index, item) in items.iter().enumerate() {
                collect_repeated(item, &format!("{path}[{index}]"), found);
            }
        }
        Value::Map(entries) => {
            let mut seen: HashMap<&str, &Span> = HashMap::new();
            for (key, value) in entries {
                let path = join(path, &key.text);
                match seen.get(key.text.as_str()) {
                    Some(first) => found.push(RepeatedKey {
                        path: path.clone(),
                        span: key.span.clone(),
                        first: Span::clone(first),
                    }),
                    None => drop(seen.insert(&key.text, &key.span)),
                }
                collect_repeated(value, &path, found);
            }
        }
        _ => {}
    }
}

/// Appends a key to a path.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
