//! What a name means, for whoever points at it.

use serde_json::{Value, json};

use super::document::{Document, range};
use super::text;
use super::world::World;
use crate::author::reference;

pub(super) fn hover(document: &Document, offset: usize, world: &World) -> Value {
    let (line, before) = document.before(offset);
    let found = match text::open_string(before) {
        Some(_) => {
            text::string_at(&document.text, offset).and_then(|(span, name)| Some((span, of_string(name, world)?)))
        }
        None => text::name_at(&document.text, offset)
            .filter(|(span, _)| span.start >= line)
            .and_then(|(span, name)| Some((span, of_name(name, document)?))),
    };
    match found {
        Some((span, markdown)) => {
            json!({"contents": {"kind": "markdown", "value": markdown}, "range": range(&document.text, &span)})
        }
        None => Value::Null,
    }
}

/// A server or a tool that is named in a string.
fn of_string(name: &str, world: &World) -> Option<String> {
    let names = world.names();
    let found: Vec<String> = names
        .iter()
        .filter(|(known, ..)| known == name)
        .map(|(known, kind, about)| format!("**{known}** ({kind})\n\n{about}"))
        .collect();
    (!found.is_empty()).then(|| found.join("\n\n---\n\n"))
}

/// What the file itself makes goes before a built-in: it hides it.
fn of_name(name: &str, document: &Document) -> Option<String> {
    if let Some((_, line)) = text::made(&document.text).iter().find(|(made, _)| *made == name) {
        let docs = docstring(&document.text, name).map(|docs| format!("\n\n{docs}")).unwrap_or_default();
        return Some(format!("```python\n{line}\n```{docs}"));
    }
    let entries = reference::find(name);
    let texts: Vec<String> = entries.iter().map(|entry| entry.markdown()).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n---\n\n"))
}

/// The string that a function begins with.
fn docstring<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let at = text::definition(text, name)?.end;
    let body = text[at..].split_once(":\n")?.1.trim_start();
    let rest = body.strip_prefix("\"\"\"")?;
    Some(rest[..rest.find("\"\"\"")?].trim())
}
