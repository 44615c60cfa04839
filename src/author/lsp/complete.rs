//! What could be meant by what is typed so far.

use serde_json::{Value, json};

use super::document::{Document, range};
use super::loadable::loadable;
use super::text;
use super::world::World;
use crate::author::lint::Role;
use crate::author::reference::{Entry, Group, entries};
use crate::builtins::presets;

/// The protocol's numbers for what a name is.
const FUNCTION: u8 = 3;
const METHOD: u8 = 2;
const VARIABLE: u8 = 6;
const MODULE: u8 = 9;
const KEYWORD: u8 = 14;
const FILE: u8 = 17;
const CONSTANT: u8 = 21;

const KEYWORDS: [&str; 15] =
    ["def", "return", "for", "in", "if", "elif", "else", "not", "and", "or", "load", "lambda", "True", "False", "None"];

pub(super) fn complete(document: &Document, offset: usize, world: &World) -> Vec<Value> {
    let (line, before) = document.before(offset);
    if let Some(start) = text::open_string(before) {
        let typed = &before[start..];
        let edited = range(&document.text, &(line + start..offset));
        let mut items = in_string(&before[..start - 1], document, world);
        items.retain(|(name, ..)| name.starts_with(typed));
        return items
            .into_iter()
            .map(|(name, kind, detail, about)| {
                json!({
                    "label": name, "kind": kind, "detail": detail, "documentation": about,
                    "textEdit": {"range": edited, "newText": name}, "filterText": name,
                })
            })
            .collect();
    }
    if before.contains('#') && text::open_string(before).is_none() && before.trim_start().starts_with('#') {
        return Vec::new();
    }
    let typed = text::name_at(&document.text[..offset], offset).map_or("", |(_, name)| name);
    match typed.rsplit_once('.') {
        Some((base, member)) => members(base, member),
        None => names(typed, document),
    }
}

type Item = (String, u8, String, String);

/// Names of servers and tools; in a `load()` files, those of the project and those that are shipped.
fn in_string(before: &str, document: &Document, world: &World) -> Vec<Item> {
    let before = before.trim_end();
    if before.ends_with("load(") {
        let shipped = presets::LIBRARY
            .iter()
            .map(|file| (format!("@proxy//{}", file.name), FILE, "shipped".to_owned(), String::new()));
        let own = document.path();
        let files = world.root(own.as_deref()).map(|root| loadable(root, own.as_deref())).unwrap_or_default();
        let files = files.into_iter().map(|name| (name, FILE, "file".to_owned(), String::new()));
        return files.chain(shipped).collect();
    }
    let servers_only = before.ends_with("backends()[") || before.ends_with("backends().get(");
    let names = world.names().into_iter().filter(|(_, kind, _)| !servers_only || kind == "server");
    names
        .map(|(name, kind, about)| {
            let number = if kind == "server" { MODULE } else { CONSTANT };
            (name, number, kind, about)
        })
        .collect()
}

/// Of a module its own; of anything else what values of the proxy have.
fn members(base: &str, typed: &str) -> Vec<Value> {
    let of_module: Vec<&Entry> = entries()
        .iter()
        .filter(|entry| entry.name.rsplit_once('.').is_some_and(|(module, _)| module == base))
        .collect();
    let found = if of_module.is_empty() {
        entries().iter().filter(|entry| matches!(entry.group, Group::Type(_))).collect()
    } else {
        of_module
    };
    let last = |entry: &Entry| entry.name.rsplit('.').next().unwrap_or_default().to_owned();
    found
        .into_iter()
        .filter(|entry| last(entry).starts_with(typed))
        .map(|entry| item(&last(entry), METHOD, entry))
        .collect()
}

fn item(label: &str, kind: u8, entry: &Entry) -> Value {
    json!({
        "label": label, "kind": kind, "detail": entry.signature,
        "documentation": {"kind": "markdown", "value": format!("{}\n\n*{}*", entry.text, entry.availability())},
    })
}

/// What the file makes, the built-ins it can use, and the words of the language.
fn names(typed: &str, document: &Document) -> Vec<Value> {
    let role = Role::of_text(&document.source());
    let mut items: Vec<Value> = Vec::new();
    let mut modules: Vec<&str> = Vec::new();
    for entry in entries().iter().filter(|entry| entry.is_for(role) && !matches!(entry.group, Group::Type(_))) {
        match entry.name.split_once('.') {
            None => items.push(item(&entry.name, FUNCTION, entry)),
            Some((module, _)) if !modules.contains(&module) => {
                modules.push(module);
                items.push(json!({"label": module, "kind": MODULE}));
            }
            Some(_) => {}
        }
    }
    for (name, line) in text::made(&document.text) {
        let kind = if line.starts_with("def ") { FUNCTION } else { VARIABLE };
        items.push(json!({"label": name, "kind": kind, "detail": line}));
    }
    let engine = role.names().iter().filter(|name| !items.iter().any(|item| item["label"] == name.as_str()));
    let engine: Vec<Value> = engine.map(|name| json!({"label": name, "kind": FUNCTION})).collect();
    items.extend(engine);
    items.extend(KEYWORDS.map(|word| json!({"label": word, "kind": KEYWORD})));
    items.retain(|item| item["label"].as_str().is_some_and(|label| label.starts_with(typed) && label != typed));
    items
}
