//! The members of one server in an imported file, each read once.

use std::time::Duration;

use super::Importer;
use super::client::Unit;
use crate::syntax::tree::{Node, NodeKey, Value};
use proxy_base::diagnostic::Diagnostic;

/// A value in an imported file.
pub(super) struct Member<'n> {
    /// The name without what it is nested in.
    pub name: &'n str,
    /// `server.key`, for messages.
    pub path: String,
    /// Where a warning about it points.
    pub key: &'n NodeKey,
    pub node: &'n Node,
}

impl<'n> Member<'n> {
    /// The members of a map; `None` if it is none.
    pub(super) fn members(&self) -> Option<Vec<Member<'n>>> {
        let Value::Map(entries) = &self.node.value else { return None };
        let member = |(key, node): &'n (NodeKey, Node)| Member {
            name: &key.text,
            path: format!("{}.{}", self.path, key.text.escape_debug()),
            key,
            node,
        };
        Some(entries.iter().map(member).collect())
    }
}

/// The members that have not been read yet.
pub(super) struct EntryMembers<'n> {
    /// The name of the server.
    pub server: String,
    pub left: Vec<Member<'n>>,
}

impl<'n> EntryMembers<'n> {
    /// The members of a server. Those of `transport` (Cline) and `command` (Zed), if they are maps, count as the server's
    /// own. A member without a value counts as absent.
    pub(super) fn of(server: String, members: Vec<Member<'n>>) -> Self {
        let mut left = Vec::new();
        for member in members {
            match (member.members(), member.name) {
                (Some(nested), "transport" | "command") => left.extend(nested.into_iter().map(|nested| {
                    let name = if nested.name == "path" { "command" } else { nested.name };
                    Member { name, path: format!("{server}.{}", name.escape_debug()), ..nested }
                })),
                _ => left.push(member),
            }
        }
        left.retain(|member| member.node.value != Value::Null);
        EntryMembers { server, left }
    }

    /// The member with one of these names, for which different programs have different ones.
    pub(super) fn take(&mut self, names: &[&str]) -> Option<Member<'n>> {
        let at = self.left.iter().position(|member| names.contains(&member.name))?;
        Some(self.left.remove(at))
    }
}

impl Importer<'_> {
    /// Reports a member of the wrong type.
    pub(super) fn expected(&mut self, Member { path, node, .. }: &Member, what: &str) {
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
    pub(super) fn string(&mut self, member: &Member) -> Option<String> {
        let text = plain_text(member.node);
        if text.is_none() {
            self.expected(member, "a string");
        }
        text
    }

    pub(super) fn strings(&mut self, member: &Member) -> Vec<String> {
        let Value::List(items) = &member.node.value else {
            self.expected(member, "a list of strings");
            return Vec::new();
        };
        let numbered = items.iter().enumerate();
        let items = numbered.map(|(index, node)| Member { path: format!("{}[{index}]", member.path), node, ..*member });
        items.filter_map(|item| self.string(&item)).collect()
    }

    /// The entries of a map from names to strings.
    pub(super) fn pairs<'n>(&mut self, member: &Member<'n>) -> Vec<(Member<'n>, String)> {
        let entries = member.members();
        if entries.is_none() {
            self.expected(member, "a map of names and strings");
        }
        let pair = |entry: Member<'n>| {
            let text = self.string(&entry)?;
            Some((entry, text))
        };
        entries.into_iter().flatten().filter_map(pair).collect()
    }

    pub(super) fn boolean(&mut self, member: &Member) -> Option<bool> {
        match member.node.value {
            Value::Bool(value) => Some(value),
            _ => {
                self.expected(member, "`true` or `false`");
                None
            }
        }
    }

    /// A number of seconds or milliseconds, greater than zero.
    pub(super) fn duration(&mut self, member: &Member, unit: Unit) -> Option<Duration> {
        const YEAR: f64 = 366.0 * 24.0 * 3600.0;
        let number = match &member.node.value {
            Value::Number(text) => text.replace('_', "").parse::<f64>().ok(),
            _ => None,
        };
        let (seconds, name) = match unit {
            Unit::Seconds => (number, "seconds"),
            Unit::Milliseconds => (number.map(|number| number / 1000.0), "milliseconds"),
        };
        let found = seconds.filter(|seconds| *seconds >= 0.001 && *seconds < YEAR);
        if found.is_none() {
            self.expected(member, &format!("a number of {name} greater than zero"));
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
