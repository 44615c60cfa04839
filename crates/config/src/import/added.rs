//! Imported servers added to a config of the proxy that exists already. The rest of the file stays as it is.

use std::collections::HashSet;
use std::path::Path;

use super::{Imported, render};
use crate::syntax::document::ConfigDocument;
use crate::syntax::tree::{Node, Span, Value};
use proxy_base::diagnostic::Diagnostic;

/// The text of a config with more servers. A server whose name is taken gets another one, `NAME_CLIENT`.
pub fn added_to(path: &Path, text: &str, imported: &mut Imported, client: &str) -> Result<String, Diagnostic> {
    let document = ConfigDocument::parse(path, text)?;
    let is_json = path.extension().is_some_and(|extension| extension == "json" || extension == "jsonc");
    let known = entries(&document);
    let section = document.root.get("mcpServers");
    let is_flow = section.is_some_and(|node| shown(text, node).starts_with('{') && !known.is_empty());
    let has_tools = imported.entries.iter().any(|entry| !entry.tools.is_everything());
    let is_in_the_way = has_tools && document.root.get("aggregation").is_some();
    if is_json || is_flow || is_in_the_way {
        let what = match () {
            () if is_json => "it is JSON",
            () if is_flow => "its `mcpServers` are written in braces",
            () => "it has an `aggregation` of its own, and some of the servers publish only some of their tools",
        };
        let problem = Diagnostic::error(format!("servers cannot be added to `{}`: {what}", path.display()));
        let hint = format!("run `proxy init --from {client} --output imported.yaml` and move them by hand");
        return Err(problem.hint(hint));
    }
    rename(imported, &known, client);
    let mut servers = render::servers(&imported.entries);
    let added = match (section, known.last()) {
        (Some(section), Some(_)) => {
            let Value::Map(members) = &section.value else { return Err(unproven(path, client)) };
            let indent = members.first().map_or(2, |(key, _)| column(text, key.span.start));
            servers = indented(&servers, indent);
            let end = line_end(text, last_place(section));
            let gap = if text[..end].ends_with('\n') { "" } else { "\n" };
            format!("{}{gap}{servers}{}", &text[..end], &text[end..])
        }
        // The key without servers. What else is on its line, such as a comment, stays.
        (Some(section), None) => {
            let empty = empty_value(text, &document, section).ok_or_else(|| unproven(path, client))?;
            let end = line_end(text, empty.end);
            let rest = text[empty.end..end].trim_end();
            format!("{}{rest}\n{servers}{}", text[..empty.start].trim_end(), &text[end..])
        }
        (None, _) => {
            let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            format!("{text}{gap}\nmcpServers:\n{servers}")
        }
    };
    let mut whole = added;
    if has_tools && !whole.ends_with('\n') {
        whole.push('\n');
    }
    render::tools(&mut whole, &imported.entries);
    let expected: Vec<String> =
        known.into_iter().chain(imported.entries.iter().map(|entry| entry.name.clone())).collect();
    let read = ConfigDocument::parse(path, &whole).ok().filter(|document| entries(document) == expected);
    read.map(|_| whole).ok_or_else(|| unproven(path, client))
}

/// Where the value of `mcpServers` without servers stands: behind the colon if nothing is written there.
fn empty_value(text: &str, document: &ConfigDocument, section: &Node) -> Option<Span> {
    let shown = shown(text, section);
    if !shown.trim().is_empty() {
        // A comment behind it may belong to the span.
        let length = match shown.find('}') {
            Some(brace) if shown.starts_with('{') => brace + 1,
            _ => shown.find(char::is_whitespace).unwrap_or(shown.len()),
        };
        return Some(section.span.start..section.span.start + length);
    }
    let Value::Map(entries) = &document.root.value else { return None };
    let (key, _) = entries.iter().find(|(key, _)| key.text == "mcpServers")?;
    let colon = key.span.end + text[key.span.end..].find(':')? + 1;
    Some(colon..colon)
}

fn unproven(path: &Path, client: &str) -> Diagnostic {
    let problem = format!("servers cannot be added to `{}` without touching other lines", path.display());
    let hint = format!("run `proxy init --from {client} --output imported.yaml` and move them by hand");
    Diagnostic::error(problem).hint(hint)
}

/// The names of the servers.
fn entries(document: &ConfigDocument) -> Vec<String> {
    match document.root.get("mcpServers").map(|node| &node.value) {
        Some(Value::Map(entries)) => entries.iter().map(|(key, _)| key.text.clone()).collect(),
        _ => Vec::new(),
    }
}

fn rename(imported: &mut Imported, known: &[String], client: &str) {
    let mut taken: HashSet<String> = known.iter().cloned().collect();
    for entry in &mut imported.entries {
        let stem = entry.name.clone();
        let mut count = 1;
        while !taken.insert(entry.name.clone()) {
            entry.name = if count == 1 { format!("{stem}_{client}") } else { format!("{stem}_{client}_{count}") };
            count += 1;
        }
        if entry.name != stem {
            let message =
                format!("renamed `{}` to `{}`, because the config has another", stem.escape_debug(), entry.name);
            imported.warnings.push(Diagnostic::warning(message));
        }
    }
}

fn shown<'a>(text: &'a str, node: &Node) -> &'a str {
    text.get(node.span.clone()).unwrap_or_default()
}

fn column(text: &str, place: usize) -> usize {
    place - text[..place].rfind('\n').map_or(0, |newline| newline + 1)
}

fn line_end(text: &str, place: usize) -> usize {
    text[place..].find('\n').map_or(text.len(), |newline| place + newline + 1)
}

/// The last place that belongs to a value.
fn last_place(node: &Node) -> usize {
    let inner = match &node.value {
        Value::Map(entries) => entries.last().map(|(key, node)| last_place(node).max(key.span.end)),
        Value::List(items) => items.last().map(last_place),
        // The line break at its end belongs to it.
        _ => return node.span.end.saturating_sub(1).max(node.span.start),
    };
    inner.unwrap_or(node.span.start)
}

fn indented(servers: &str, by: usize) -> String {
    let line = |line: &str| format!("{}{line}\n", " ".repeat(by.saturating_sub(2)));
    let cut = |whole: &str| if by < 2 { whole.strip_prefix(&" ".repeat(2 - by)).map(str::to_owned) } else { None };
    servers.lines().map(|whole| line(&cut(whole).unwrap_or_else(|| whole.to_owned()))).collect()
}
