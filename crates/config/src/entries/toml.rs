//! Tables of a TOML file, added at its end and cut out of it.

use serde_json::Value as Json;

use super::EntryText;
use crate::syntax::tree::{self, Node, Span, Value};

/// The text with a table: in the place of the one that is there, or else at the end.
pub(super) fn with(text: &str, root: &Node, path: &[&str], entry: EntryText<'_>) -> String {
    let newline = newline_of(text);
    let mut table = match entry {
        EntryText::Written(table) => table.to_owned(),
        EntryText::Value(value) => {
            let keys: Vec<String> = path.iter().map(|key| self::key(key)).collect();
            let mut table = format!("[{}]{newline}", keys.join("."));
            for (name, value) in value.as_object().into_iter().flatten() {
                table.push_str(&format!("{} = {}{newline}", key(name), rendered(value)));
            }
            table
        }
    };
    if !table.ends_with('\n') {
        table.push_str(newline);
    }
    let spans = spans(text, root, path).unwrap_or_default();
    let is_table = |span: &Span| text[span.clone()].trim_start().starts_with('[');
    let mut whole = match spans.split_first() {
        Some((first, others)) if is_table(first) => {
            let mut whole = text.to_owned();
            others.iter().rev().for_each(|span| whole.replace_range(span.clone(), ""));
            whole.replace_range(first.clone(), &table);
            return whole;
        }
        Some(_) => without(text, root, path).unwrap_or_default(),
        None => text.to_owned(),
    };
    if !whole.is_empty() {
        if !whole.ends_with('\n') {
            whole.push_str(newline);
        }
        whole.push_str(newline);
    }
    whole.push_str(&table);
    whole
}

fn newline_of(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// The tables at a path as they are written, without what is written of it elsewhere.
pub(super) fn written(text: &str, root: &Node, path: &[&str]) -> Option<String> {
    let spans = spans(text, root, path)?;
    let parts: Vec<&str> = spans.into_iter().map(|span| text[span].trim_end()).collect();
    let written = parts.join(&newline_of(text).repeat(2));
    // What is not a table of its own has no name outside of the table around it.
    written.starts_with('[').then_some(written)
}

/// The text without the tables at a path; `None` if there is nothing that is only this entry.
pub(super) fn without(text: &str, root: &Node, path: &[&str]) -> Option<String> {
    let mut rest = text.to_owned();
    for span in spans(text, root, path)?.into_iter().rev() {
        // One blank line separates two tables.
        let blank = ["\r\n", "\n"].into_iter().find(|blank| {
            let before = &rest[..span.start];
            let above = before.strip_suffix(*blank);
            above.is_some_and(|above| above.ends_with('\n'))
        });
        let start = span.start - blank.map_or(0, str::len);
        rest.replace_range(start..span.end, "");
    }
    Some(rest)
}

/// The lines of an entry, with those of the tables in it.
fn spans(text: &str, root: &Node, path: &[&str]) -> Option<Vec<Span>> {
    let mut values = Vec::new();
    leaves(root, &mut values);
    let line_end = |place: usize| text[place..].find('\n').map_or(text.len(), |newline| place + newline + 1);
    let mut found = Vec::new();
    let headers = headers(text, &values);
    for (index, (start, keys)) in headers.iter().enumerate() {
        let is_of_entry = keys.len() >= path.len() && keys.iter().zip(path).all(|(key, wanted)| key == wanted);
        if !is_of_entry {
            continue;
        }
        let limit = headers.get(index + 1).map_or(text.len(), |(next, _)| *next);
        let last = values.iter().filter(|span| (*start..limit).contains(&span.start)).map(|span| span.end).max();
        found.push(*start..line_end(last.map_or(*start, |last| last - 1).max(*start)));
    }
    if !found.is_empty() {
        return Some(found);
    }
    // `name = { ... }` on one line.
    let above = path[..path.len() - 1].iter().try_fold(root, |node, key| node.get(key))?;
    let Value::Map(entries) = &above.value else { return None };
    let (key, node) = entries.iter().find(|(key, _)| key.text == path[path.len() - 1])?;
    if !text.get(node.span.clone())?.starts_with('{') {
        return None;
    }
    let start = text[..key.span.start].rfind('\n').map_or(0, |newline| newline + 1);
    Some(std::iter::once(start..line_end(node.span.end)).collect())
}

/// The spans of everything that is no map, and of maps in braces.
fn leaves(node: &Node, found: &mut Vec<Span>) {
    match &node.value {
        Value::Map(entries) => entries.iter().for_each(|(_, node)| leaves(node, found)),
        _ => found.push(node.span.clone()),
    }
}

/// The lines that begin a table, with its keys.
fn headers(text: &str, values: &[Span]) -> Vec<(usize, Vec<String>)> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let is_in_value = values.iter().any(|span| span.start < start && start < span.end);
        if !is_in_value && line.trim_start().starts_with('[') {
            found.push((start, keys(line)));
        }
        start += line.len();
    }
    found
}

/// The keys of a header: `[a."b c".d]`.
fn keys(header: &str) -> Vec<String> {
    let mut keys = Vec::new();
    let Ok(mut node) = tree::parse(std::path::Path::new("header.toml"), header) else { return keys };
    loop {
        let Value::Map(entries) = node.value else { return keys };
        let Some((key, next)) = entries.into_iter().next() else { return keys };
        keys.push(key.text);
        node = next;
    }
}

fn key(text: &str) -> String {
    let is_bare = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
    if !text.is_empty() && text.chars().all(is_bare) { text.to_owned() } else { string(text) }
}

/// JSON escapes what TOML must escape, except for one character.
fn string(text: &str) -> String {
    Json::from(text).to_string().replace('\u{7f}', "\\u007f")
}

fn rendered(value: &Json) -> String {
    match value {
        Json::String(text) => string(text),
        Json::Array(items) => {
            let items: Vec<String> = items.iter().map(rendered).collect();
            format!("[{}]", items.join(", "))
        }
        Json::Object(members) => {
            let members: Vec<String> =
                members.iter().map(|(name, value)| format!("{} = {}", key(name), rendered(value))).collect();
            format!("{{ {} }}", members.join(", "))
        }
        other => other.to_string(),
    }
}
