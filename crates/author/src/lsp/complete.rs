//! Completion: the names that can follow at a position.

use std::path::Path;
use std::sync::Arc;

use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionTextEdit, Documentation, MarkupContent, MarkupKind, TextEdit,
};

use super::definitions::definitions;
use super::document::{ScriptDocument, range};
use super::loadable::loadable;
use super::strings::{self, Expected};
use super::syntax;
use super::tree::{Cursor, tree};
use super::workspace::WorkspaceState;
use crate::lint::Role;
use crate::reference::{BuiltinEntry, Group, entries};
use proxy_base::foreign_text::visible;
use proxy_builtins::presets;
use proxy_model::{ItemKind, Snapshot};
use proxy_script::{Holds, on_big_stack};

const KEYWORDS: [&str; 15] =
    ["def", "return", "for", "in", "if", "elif", "else", "not", "and", "or", "load", "lambda", "True", "False", "None"];

pub(super) fn complete(document: &ScriptDocument, offset: usize, workspace: &WorkspaceState) -> Vec<CompletionItem> {
    let (line, before) = document.line_before(offset);
    if let Some(start) = syntax::open_string(before) {
        let typed = &before[start..];
        let replaced = range(&document.text, &(line + start..offset));
        let mut items = in_string(document, before[..start - 1].trim_end(), offset, workspace);
        items.retain(|item| item.label.starts_with(typed));
        // A string may contain characters at which editors end a word, so the edit names what it replaces.
        for item in &mut items {
            item.filter_text = Some(item.label.clone());
            item.text_edit = Some(CompletionTextEdit::Edit(TextEdit::new(replaced, item.label.clone())));
        }
        return items;
    }
    if before.trim_start().starts_with('#') {
        return Vec::new();
    }
    let start = before.trim_end_matches(syntax::is_name_part).len();
    let typed = &before[start..];
    match before[..start].strip_suffix('.') {
        Some(owner) => {
            let module = &owner[owner.trim_end_matches(|part| syntax::is_name_part(part) || part == '.').len()..];
            members(module, typed, Cursor::new(&document.text, offset).and_then(|cursor| cursor.owner()).as_ref())
        }
        None => names(typed, document, offset),
    }
}

/// The labels of the completions at the end of `line`, as if it were a line of a script in `root`, and the offset at
/// which the completed part starts. `names` are names that are defined before this line.
pub fn completions(line: &str, snapshot: Arc<Snapshot>, root: &Path, names: &[String]) -> (usize, Vec<String>) {
    let workspace = WorkspaceState { snapshot: Some(snapshot), ..WorkspaceState::default() };
    let document = ScriptDocument::at(root.join("prompt.star"), line);
    let items = on_big_stack(|| complete(&document, line.len(), &workspace)).unwrap_or_default();
    let labels = items.into_iter().map(|item| item.label);
    let (start, mut found): (usize, Vec<String>) = match syntax::open_string(line) {
        Some(start) => (start, labels.collect()),
        None => {
            let start = line.trim_end_matches(syntax::is_name_part).len();
            let is_member = line[..start].ends_with('.');
            let own = names.iter().filter(|name| name.starts_with(&line[start..]) && !is_member).cloned();
            (start, own.chain(labels).collect())
        }
    };
    found.sort();
    found.dedup();
    (start, found)
}

fn item(label: impl Into<String>, kind: CompletionItemKind) -> CompletionItem {
    CompletionItem { label: label.into(), kind: Some(kind), ..CompletionItem::default() }
}

fn item_with_detail(
    label: impl Into<String>,
    kind: CompletionItemKind,
    detail: impl Into<String>,
    documentation: String,
) -> CompletionItem {
    let documentation =
        (!documentation.is_empty()).then(|| Documentation::String(visible(&documentation).into_owned()));
    CompletionItem { detail: Some(detail.into()), documentation, ..item(label, kind) }
}

/// What the string at the cursor can be: the names of items and the arguments of tools where the text says of what,
/// otherwise the names of servers and tools; in a `load()` the files of the project and the embedded libraries.
fn in_string(
    document: &ScriptDocument,
    before: &str,
    offset: usize,
    workspace: &WorkspaceState,
) -> Vec<CompletionItem> {
    if before.ends_with("load(") {
        let file = |path: String, detail: &str| item_with_detail(path, CompletionItemKind::FILE, detail, String::new());
        let embedded = presets::LIBRARY.iter().map(|library| file(format!("@proxy//{}", library.name), "shipped"));
        let own = document.path.as_deref();
        let files = workspace.root(own).map(|root| loadable(root, own)).unwrap_or_default();
        return files.into_iter().map(|path| file(path, "file")).chain(embedded).collect();
    }
    let expected = Cursor::new(&document.text, offset).and_then(|cursor| strings::expected(&cursor));
    let servers_only = match expected {
        Some(Expected::Items(kind, server)) => return item_names(kind, server.as_deref(), workspace),
        Some(Expected::Arguments { server, tool }) => {
            return argument_names(server.as_deref(), tool.as_deref(), workspace);
        }
        Some(Expected::Server) => true,
        None => false,
    };
    let names = workspace.names().into_iter().filter(|known| !servers_only || known.tool_of.is_none());
    names
        .map(|known| {
            let kind = match known.tool_of {
                None => CompletionItemKind::MODULE,
                Some(_) => CompletionItemKind::CONSTANT,
            };
            item_with_detail(known.name.clone(), kind, known.kind(), known.description)
        })
        .collect()
}

fn item_names(kind: ItemKind, server: Option<&str>, workspace: &WorkspaceState) -> Vec<CompletionItem> {
    let items = workspace.items(kind, server).into_iter();
    items
        .map(|(backend, item)| {
            let detail = format!("{} of `{}`", kind.noun(), backend.name);
            item_with_detail(item.key(), CompletionItemKind::CONSTANT, detail, item.text("description"))
        })
        .collect()
}

/// The names of the arguments of a tool, or of all tools of a server.
fn argument_names(server: Option<&str>, tool: Option<&str>, workspace: &WorkspaceState) -> Vec<CompletionItem> {
    let mut found: Vec<CompletionItem> = Vec::new();
    for (_, definition) in workspace.items(ItemKind::Tool, server) {
        if tool.is_some_and(|tool| tool != definition.key()) {
            continue;
        }
        let schema = definition.member("inputSchema").unwrap_or_default();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            if !found.iter().any(|known| known.label == *name) {
                let text = property["description"].as_str().unwrap_or_default().to_owned();
                let detail = format!("argument of `{}`", definition.key());
                found.push(item_with_detail(name.clone(), CompletionItemKind::FIELD, detail, text));
            }
        }
    }
    found
}

/// The members of a module, or of the type of an expression; if the type is unknown, those of all of the proxy's types.
fn members(base: &str, typed: &str, held: Option<&Holds>) -> Vec<CompletionItem> {
    if held == Some(&Holds::Backends) {
        let methods = ["get", "items", "keys", "values"].into_iter().filter(|method| method.starts_with(typed));
        return methods.map(|method| item(method, CompletionItemKind::METHOD)).collect();
    }
    let of_module: Vec<&BuiltinEntry> = entries()
        .iter()
        .filter(|entry| entry.name.rsplit_once('.').is_some_and(|(module, _)| module == base))
        .collect();
    let is_member = |entry: &&BuiltinEntry| match (entry.group, held) {
        (Group::Type(name), Some(held)) => type_name(held) == Some(name),
        (Group::Type(_), None) => true,
        _ => false,
    };
    let found = if of_module.is_empty() { entries().iter().filter(is_member).collect() } else { of_module };
    let last = |entry: &BuiltinEntry| entry.name.rsplit('.').next().unwrap_or_default().to_owned();
    found
        .into_iter()
        .filter(|entry| last(entry).starts_with(typed))
        .map(|entry| item_of_entry(&last(entry), CompletionItemKind::METHOD, entry))
        .collect()
}

/// The name of a type in the reference.
pub(super) fn type_name(held: &Holds) -> Option<&'static str> {
    match held {
        Holds::Backend(_) => Some("Backend"),
        Holds::Metadata(..) => Some("metadata"),
        Holds::SearchIndex => Some("search_index"),
        _ => None,
    }
}

fn item_of_entry(label: &str, kind: CompletionItemKind, entry: &BuiltinEntry) -> CompletionItem {
    let value = format!("{}\n\n*{}*", entry.text, entry.availability());
    CompletionItem {
        detail: Some(entry.signature.clone()),
        documentation: Some(Documentation::MarkupContent(MarkupContent { kind: MarkupKind::Markdown, value })),
        ..item(label, kind)
    }
}

/// The names that the file defines, the built-ins that it can use, and the keywords.
fn names(typed: &str, document: &ScriptDocument, offset: usize) -> Vec<CompletionItem> {
    let role = Role::of_text(&document.source());
    let mut items: Vec<CompletionItem> = Vec::new();
    let mut modules: Vec<&str> = Vec::new();
    let is_member = |entry: &BuiltinEntry| matches!(entry.group, Group::Type(_) | Group::TestType(_));
    for entry in entries().iter().filter(|entry| entry.is_for(role) && !is_member(entry)) {
        match entry.name.split_once('.') {
            None => items.push(item_of_entry(&entry.name, CompletionItemKind::FUNCTION, entry)),
            Some((module, _)) if !modules.contains(&module) => {
                modules.push(module);
                items.push(item(module, CompletionItemKind::MODULE));
            }
            Some(_) => {}
        }
    }
    // What is around the cursor seldom parses without being completed.
    let cursor = Cursor::new(&document.text, offset).map(|cursor| cursor.module);
    let mut defined: Vec<&str> = Vec::new();
    let modules = [cursor, tree(&document.text)];
    for definition in modules.iter().flatten().flat_map(definitions) {
        if defined.contains(&definition.name) {
            continue;
        }
        defined.push(definition.name);
        let kind = definition.function.map_or(CompletionItemKind::VARIABLE, |_| CompletionItemKind::FUNCTION);
        let detail = Some(definition.line(&document.text));
        items.push(CompletionItem { detail, ..item(definition.name, kind) });
    }
    let undocumented = role.names().iter().filter(|name| !items.iter().any(|item| item.label == **name));
    let undocumented: Vec<_> = undocumented.map(|name| item(name, CompletionItemKind::FUNCTION)).collect();
    items.extend(undocumented);
    items.extend(KEYWORDS.map(|word| item(word, CompletionItemKind::KEYWORD)));
    items.retain(|item| item.label.starts_with(typed) && item.label != typed);
    items
}
