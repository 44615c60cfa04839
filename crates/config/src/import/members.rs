//! The members of one server in an imported file, each read once.

use std::time::Duration;

use super::Importer;
use super::client::Unit;
use crate::syntax::tree::{Node, NodeKey, Value};
use proxy_base::diagnostic::Diagnostic;

pub(super) struct Member<'n> {
    /// The name without what it is nested in.
    pub name: &'n str,
    pub key: &'n NodeKey,
    pub node: &'n Node,
}

/// The members that have not been read yet.
pub(super) struct EntryMembers<'n> {
    /// The name of the server.
    pub server: String,
    left: Vec<Member<'n>>,
}

impl<'n> EntryMembers<'n> {
    /// The members of a map. Those of `transport` (Cline) and `command` (Zed), if they are maps, count as the server's own.
    /// A member without a value counts as absent.
    pub(super) fn of(server: &str, entries: &'n [(NodeKey, Node)]) -> Self {
        let mut left = Vec::new();
        for (key, node) in entries.iter().filter(|(_, node)| node.value != Value::Null) {
            match (&node.value, key.text.as_str()) {
                (Value::Map(nested), "transport" | "command") => {
                    let nested = nested.iter().filter(|(_, node)| node.value != Value::Null);
                    left.extend(nested.map(|(key, node)| {
                        let name = if key.text == "path" { "command" } else { key.text.as_str() };
                        Member { name, key, node }
                    }));
                }
                (_, name) => left.push(Member { name, key, node }),
            }
        }
        EntryMembers { server: server.escape_debug().to_string(), left }
    }

    /// The member with one of these names, for which different programs have different ones.
    pub(super) fn take(&mut self, names: &[&str]) -> Option<Member<'n>> {
        let at = self.left.iter().position(|member| names.contains(&member.name))?;
        Some(self.left.remove(at))
    }

    pub(super) fn rest(self) -> Vec<Member<'n>> {
        self.left
    }

    /// `server.key`, for messages.
    pub(super) fn path(&self, member: &Member) -> String {
        format!("{}.{}", self.server, member.name.escape_debug())
    }
}

impl Importer<'_> {
    /// Reports a member of the wrong type.
    pub(super) fn expected(&mut self, path: &str, node: &Node, what: &str) {
        let found = match &node.value {
            Value::Null => "nothing",
            Value::Bool(_) => "`true` or `false`",
            Value::Number(_) => "a number",
            Value::String(_) | Value::Block(_) => "a string",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        };
        // One line of the value is enough to find it.
        let shown = self.document.shown(&node.span);
        let end = node.span.start + shown.find('\n').unwrap_or(shown.len());
        let place = self.document.place(node.span.start..end);
        self.errors.push(Diagnostic::error(format!("`{path}`: expected {what}, found {found}")).at(place));
    }

    /// A string, or a number or Boolean as text.
    pub(super) fn string(&mut self, path: &str, node: &Node) -> Option<String> {
        let text = plain_text(node);
        if text.is_none() {
            self.expected(path, node, "a string");
        }
        text
    }

    pub(super) fn strings(&mut self, path: &str, node: &Node) -> Vec<String> {
        let Value::List(items) = &node.value else {
            self.expected(path, node, "a list of strings");
            return Vec::new();
        };
        let numbered = items.iter().enumerate();
        numbered.filter_map(|(index, item)| self.string(&format!("{path}[{index}]"), item)).collect()
    }

    /// The entries of a map from names to strings.
    pub(super) fn pairs<'n>(&mut self, path: &str, node: &'n Node) -> Vec<(&'n NodeKey, String)> {
        let Value::Map(entries) = &node.value else {
            self.expected(path, node, "a map of names and strings");
            return Vec::new();
        };
        let pair = |(key, node): &'n (NodeKey, Node)| {
            Some((key, self.string(&format!("{path}.{}", key.text.escape_debug()), node)?))
        };
        entries.iter().filter_map(pair).collect()
    }

    pub(super) fn boolean(&mut self, path: &str, node: &Node) -> Option<bool> {
        match node.value {
            Value::Bool(value) => Some(value),
            _ => {
                self.expected(path, node, "`true` or `false`");
                None
            }
        }
    }

    /// A number of seconds or milliseconds, greater than zero.
    pub(super) fn duration(&mut self, path: &str, node: &Node, unit: Unit) -> Option<Duration> {
        const YEAR: f64 = 366.0 * 24.0 * 3600.0;
        let number = match &node.value {
            Value::Number(text) => text.replace('_', "").parse::<f64>().ok(),
            _ => None,
        };
        let (seconds, name) = match unit {
            Unit::Seconds => (number, "seconds"),
            Unit::Milliseconds => (number.map(|number| number / 1000.0), "milliseconds"),
        };
        let found = seconds.filter(|seconds| *seconds >= 0.001 && *seconds < YEAR);
        if found.is_none() {
            self.expected(path, node, &format!("a number of {name} greater than zero"));
        }
        found.map(|seconds| Duration::from_millis((seconds * 1000.0).round() as u64))
    }
}

pub(super) fn plain_text(node: &Node) -> Option<String> {
    match &node.value {
        Value::String(text) | Value::Block(text) | Value::Number(text) => Some(text.clone()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}
