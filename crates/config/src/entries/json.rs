//! Members of JSON objects, added to and cut out of a text with comments and trailing commas.

use serde_json::Value as Json;

use super::EntryText;
use crate::syntax::tree::{Node, NodeKey, Span, Value};

type Members = [(NodeKey, Node)];

/// A member to add.
struct NewMember<'a> {
    key: &'a str,
    /// The keys of the maps around the entry, from the outside.
    nested: &'a [&'a str],
    entry: &'a EntryText<'a>,
}

/// A text with places in it.
struct Source<'a> {
    text: &'a str,
    newline: &'static str,
    /// One level of indentation.
    unit: String,
}

pub(super) fn written(text: &str, root: &Node, path: &[&str]) -> Option<String> {
    let node = path.iter().try_fold(root, |node, key| node.get(key))?;
    Some(text[node.span.clone()].to_owned())
}

/// The text with the value at a path.
pub(super) fn with(text: &str, root: &Node, path: &[&str], entry: EntryText<'_>) -> String {
    let source = Source::new(text, root);
    let mut node = root;
    let mut left = path;
    while let Some((key, rest)) = left.split_first()
        && let Some(next) = node.get(key)
    {
        node = next;
        left = rest;
    }
    let Some((key, nested)) = left.split_first() else {
        let indent = source.indent_of(node.span.start);
        let is_inline = !text[node.span.clone()].contains('\n');
        let is_wide = !is_inline || source.is_on_own_line(node.span.start) || source.unit_of(root).is_some();
        let value = source.value(&[], &entry, &indent, is_wide);
        return source.edited(vec![(node.span.clone(), value)]);
    };
    let new = NewMember { key, nested, entry: &entry };
    match &node.value {
        Value::Map(members) => source.with_member(node, members, &new, std::ptr::eq(node, root)),
        // Nothing, or comments only.
        _ => {
            let member = source.member(&new, &source.unit, true);
            let newline = source.newline;
            let object = format!("{{{newline}{}{member}{newline}}}{newline}", source.unit);
            if text.trim().is_empty() { object } else { format!("{}{newline}{object}", text.trim_end()) }
        }
    }
}

/// The text without the member at a path; `None` if there is none.
pub(super) fn without(text: &str, root: &Node, path: &[&str]) -> Option<String> {
    let (key, above) = path.split_last()?;
    let object = above.iter().try_fold(root, |node, key| node.get(key))?;
    let Value::Map(members) = &object.value else { return None };
    let index = members.iter().position(|(known, _)| known.text == *key)?;
    let source = Source::new(text, root);
    Some(source.edited(source.cuts(object, members, index)))
}

impl<'a> Source<'a> {
    fn new(text: &'a str, root: &Node) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let mut source = Source { text, newline, unit: "  ".to_owned() };
        if let Some(unit) = source.unit_of(root) {
            source.unit = unit;
        }
        source
    }

    /// The indentation of the first member, if it begins a line.
    fn unit_of(&self, root: &Node) -> Option<String> {
        let Value::Map(members) = &root.value else { return None };
        let (first, _) = members.first()?;
        if !self.is_on_own_line(first.span.start) {
            return None;
        }
        let outer = self.indent_of(root.span.start);
        let inner = self.indent_of(first.span.start);
        inner.strip_prefix(outer.as_str()).filter(|unit| !unit.is_empty()).map(str::to_owned)
    }

    /// The space at the beginning of the line of a place.
    fn indent_of(&self, place: usize) -> String {
        let line = &self.text[self.line_start(place)..];
        line[..line.len() - line.trim_start_matches([' ', '\t']).len()].to_owned()
    }

    fn line_start(&self, place: usize) -> usize {
        self.text[..place].rfind('\n').map_or(0, |newline| newline + 1)
    }

    /// The end of the line before that of a place.
    fn end_of_line_before(&self, place: usize) -> usize {
        let start = self.line_start(place);
        let before = &self.text[..start];
        let before = before.strip_suffix('\n').unwrap_or(before);
        before.strip_suffix('\r').unwrap_or(before).len()
    }

    fn is_on_own_line(&self, place: usize) -> bool {
        let start = self.line_start(place);
        start > 0 && self.text[start..place].trim().is_empty()
    }

    /// The place of the comma behind a value, if the next thing that is neither space nor comment is one.
    fn comma_after(&self, place: usize) -> Option<usize> {
        let mut at = place;
        loop {
            let rest = &self.text[at..];
            at += rest.len() - rest.trim_start().len();
            let rest = &self.text[at..];
            if rest.starts_with(',') {
                return Some(at);
            }
            at += comment_length(rest)?;
        }
    }

    /// The end of what follows a place on its line, if that is nothing but space and comments.
    fn end_of_remarks(&self, place: usize) -> usize {
        let line_end = self.text[place..].find('\n').map_or(self.text.len(), |newline| place + newline);
        let line = self.text[..line_end].strip_suffix('\r').unwrap_or(&self.text[..line_end]);
        let mut at = place;
        let mut end = place;
        loop {
            let rest = &line[at..];
            at += rest.len() - rest.trim_start().len();
            match comment_length(&line[at..]) {
                Some(length) if length > 0 => {
                    at += length;
                    end = at;
                }
                _ => return end,
            }
        }
    }

    /// A member with its value: `"key": value`.
    fn member(&self, new: &NewMember<'_>, indent: &str, is_wide: bool) -> String {
        format!("{}: {}", Json::from(new.key), self.value(new.nested, new.entry, indent, is_wide))
    }

    fn value(&self, nested: &[&str], entry: &EntryText<'_>, indent: &str, is_wide: bool) -> String {
        match (nested.split_first(), entry) {
            (Some((key, nested)), _) => {
                let inner = format!("{indent}{}", self.unit);
                let member = self.member(&NewMember { key, nested, entry }, &inner, is_wide);
                let newline = self.newline;
                if is_wide { format!("{{{newline}{inner}{member}{newline}{indent}}}") } else { format!("{{{member}}}") }
            }
            (None, EntryText::Written(text)) => (*text).to_owned(),
            (None, EntryText::Value(value)) => self.rendered(value, indent, is_wide),
        }
    }

    /// Objects on several lines, lists on one.
    fn rendered(&self, value: &Json, indent: &str, is_wide: bool) -> String {
        match value {
            Json::Object(members) if !members.is_empty() => {
                let inner = format!("{indent}{}", self.unit);
                let member = |(key, value): (&String, &Json)| {
                    format!("{}: {}", Json::from(key.as_str()), self.rendered(value, &inner, is_wide))
                };
                let members: Vec<String> = members.iter().map(member).collect();
                if !is_wide {
                    return format!("{{{}}}", members.join(", "));
                }
                let newline = self.newline;
                let between = format!(",{newline}{inner}");
                format!("{{{newline}{inner}{}{newline}{indent}}}", members.join(&between))
            }
            Json::Array(items) => {
                let items: Vec<String> = items.iter().map(|item| self.rendered(item, indent, false)).collect();
                format!("[{}]", items.join(", "))
            }
            other => other.to_string(),
        }
    }

    fn with_member(&self, object: &Node, members: &Members, new: &NewMember<'_>, is_root: bool) -> String {
        let Some((last_key, last)) = members.last() else {
            return self.with_first_member(object, new, is_root);
        };
        let comma = self.comma_after(last.span.end);
        let behind = comma.map_or(last.span.end, |comma| comma + 1);
        let mut edits = Vec::new();
        if comma.is_none() {
            edits.push((last.span.end..last.span.end, ",".to_owned()));
        }
        let end = if comma.is_some() { "," } else { "" };
        if self.is_on_own_line(last_key.span.start) {
            let indent = self.indent_of(last_key.span.start);
            let member = self.member(new, &indent, true);
            let at = self.end_of_remarks(behind);
            edits.push((at..at, format!("{}{indent}{member}{end}", self.newline)));
        } else {
            let member = self.member(new, "", false);
            edits.push((behind..behind, format!(" {member}{end}")));
        }
        self.edited(edits)
    }

    fn with_first_member(&self, object: &Node, new: &NewMember<'_>, is_root: bool) -> String {
        let inside = &self.text[object.span.start + 1..object.span.end - 1];
        let at = object.span.start + 1 + inside.trim_end().len();
        let space = &self.text[at..object.span.end - 1];
        let is_wide = is_root || self.line_start(object.span.start) > 0 || inside.contains('\n');
        if !is_wide {
            let member = self.member(new, "", false);
            return self.edited(vec![(at..at, member)]);
        }
        let outer = self.indent_of(object.span.start);
        let indent = format!("{outer}{}", self.unit);
        let member = self.member(new, &indent, true);
        let close = if space.contains('\n') { String::new() } else { format!("{}{outer}", self.newline) };
        self.edited(vec![(at..at, format!("{}{indent}{member}{close}", self.newline))])
    }

    /// What to cut to remove a member.
    fn cuts(&self, object: &Node, members: &Members, index: usize) -> Vec<(Span, String)> {
        let (key, node) = &members[index];
        let start = key.span.start;
        let end = node.span.end;
        let comma = self.comma_after(end);
        let cut = |span: Span| (span, String::new());
        if members.len() == 1 {
            let inside = object.span.start + 1..object.span.end - 1;
            let behind = comma.map_or(end, |comma| comma + 1);
            let rest = [&self.text[inside.start..start], &self.text[behind..inside.end]];
            if rest.iter().all(|rest| rest.trim().is_empty()) {
                return vec![cut(inside)];
            }
        }
        let is_own_line = self.is_on_own_line(start);
        if let Some(comma) = comma {
            let behind = comma + 1;
            let rest = self.text[behind..].split('\n').next().unwrap_or_default();
            if is_own_line && rest.trim().is_empty() {
                return vec![cut(self.end_of_line_before(start)..behind)];
            }
            let spaces = rest.len() - rest.trim_start().len();
            return vec![cut(start..behind + spaces)];
        }
        let rest = self.text[end..].split('\n').next().unwrap_or_default();
        let from = if is_own_line && rest.trim().is_empty() { self.end_of_line_before(start) } else { start };
        let before = index.checked_sub(1).and_then(|index| self.comma_after(members[index].1.span.end));
        match before {
            // On one line, the space behind the comma goes with it.
            Some(before) if self.text[before + 1..start].trim().is_empty() && from == start => vec![cut(before..end)],
            Some(before) => vec![cut(before..before + 1), cut(from..end)],
            None => vec![cut(from..end)],
        }
    }

    /// The text with spans replaced.
    fn edited(&self, mut edits: Vec<(Span, String)>) -> String {
        edits.sort_by_key(|(span, _)| span.start);
        let mut text = String::with_capacity(self.text.len() + 200);
        let mut done = 0;
        for (span, new) in edits {
            text.push_str(&self.text[done..span.start]);
            text.push_str(&new);
            done = span.end;
        }
        text.push_str(&self.text[done..]);
        text
    }
}

/// The length of the comment at the beginning of a text; `None` if it begins with something else.
fn comment_length(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        let line = text.find('\n').unwrap_or(text.len());
        return Some(text[..line].trim_end_matches('\r').len());
    }
    let body = text.strip_prefix("/*")?;
    Some(body.find("*/").map_or(text.len(), |end| end + 4))
}
