//! `items`: every array says what it holds.

use serde_json::{Map, Value, json};

use super::walk::walk;
use crate::change::{Changes, Path, brief};

/// How many kinds of elements are kept apart.
const MAX_KINDS: usize = 16;

pub(crate) fn complete_items(schema: &mut Value, changes: &mut Changes) {
    walk(schema, &Path::ROOT, &mut |schema, at| {
        let Value::Object(members) = schema else { return };
        match members.get("items") {
            None if is_array(members) => {
                changes.note(at, || "`items` added".to_owned());
                members.insert("items".to_owned(), json!({}));
            }
            Some(Value::Bool(true)) => {
                changes.note(at, || "`items: true` becomes `{}`".to_owned());
                members.insert("items".to_owned(), json!({}));
            }
            Some(Value::Bool(false)) => {
                members.insert("items".to_owned(), json!({}));
                changes.take(members, at, "items: false");
            }
            Some(Value::Array(_)) => merge_positions(members, at, changes),
            _ => {}
        }
    });
}

fn is_array(members: &Map<String, Value>) -> bool {
    match members.get("type") {
        Some(Value::String(name)) => name == "array",
        Some(Value::Array(names)) => names.iter().any(|name| name == "array"),
        _ => false,
    }
}

/// In older drafts `items` has a schema for each position. All of them become alternatives for each element.
fn merge_positions(members: &mut Map<String, Value>, at: &Path<'_>, changes: &mut Changes) {
    let Some(Value::Array(positions)) = members.get("items") else { return };
    let told = brief(&json!(positions).to_string(), 60);
    let mut kinds: Vec<Value> = Vec::new();
    for position in positions {
        if !kinds.contains(position) && kinds.len() <= MAX_KINDS {
            kinds.push(position.clone());
        }
    }
    // What follows the last position is another kind of element.
    let further = members.shift_remove("additionalItems").unwrap_or(Value::Bool(true));
    let is_closed = further == Value::Bool(false);
    if !is_closed && !kinds.contains(&further) {
        kinds.push(further);
    }
    let is_open = kinds.len() > MAX_KINDS || kinds.iter().any(|kind| *kind == Value::Bool(true) || *kind == json!({}));
    let merged = match kinds.pop() {
        Some(_) if is_open => json!({}),
        Some(only) if kinds.is_empty() && only.is_object() => only,
        Some(last) => {
            kinds.push(last);
            json!({"anyOf": kinds})
        }
        None => json!({}),
    };
    members.insert("items".to_owned(), merged);
    changes.take(members, at, &format!("in this order: {told}"));
}
