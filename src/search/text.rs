//! What of a tool is searched: its name, description, server, and all that its schema says in words.

use serde_json::{Map, Value};

use super::weights::PARTS;
use crate::model::Definition;

/// Deeper schemas, or schemas that contain themselves, end here.
const DEPTH: usize = 6;

/// The text of each part, in the order of [`super::weights::Part`].
pub(super) fn parts(server: &str, definition: &Definition) -> [String; PARTS] {
    let object: Map<String, Value> = serde_json::from_str(definition.raw().get()).unwrap_or_default();
    let text = |member: &str| object.get(member).and_then(Value::as_str).unwrap_or_default();
    let mut said = Said::default();
    if let Some(schema) = object.get("inputSchema") {
        said.read(schema, 0);
    }
    let description = match text("title") {
        "" => text("description").to_owned(),
        title => format!("{title}. {}", text("description")),
    };
    [definition.key().to_owned(), description, said.descriptions, server.to_owned(), said.names, said.choices]
}

#[derive(Default)]
struct Said {
    names: String,
    descriptions: String,
    choices: String,
}

impl Said {
    fn read(&mut self, schema: &Value, depth: usize) {
        if depth > DEPTH {
            return;
        }
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            add(&mut self.names, name);
            self.describe(property);
            self.read(property, depth + 1);
        }
        for choice in schema.get("enum").and_then(Value::as_array).into_iter().flatten() {
            add(&mut self.choices, choice.as_str().unwrap_or_default());
        }
        for member in ["items", "additionalProperties"] {
            if let Some(inner) = schema.get(member).filter(|inner| inner.is_object()) {
                self.describe(inner);
                self.read(inner, depth + 1);
            }
        }
        for member in ["anyOf", "oneOf", "allOf"] {
            for inner in schema.get(member).and_then(Value::as_array).into_iter().flatten() {
                self.read(inner, depth + 1);
            }
        }
    }

    fn describe(&mut self, schema: &Value) {
        add(&mut self.descriptions, schema.get("description").and_then(Value::as_str).unwrap_or_default());
    }
}

fn add(text: &mut String, more: &str) {
    text.push_str(more);
    text.push('\n');
}
