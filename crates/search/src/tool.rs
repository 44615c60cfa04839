//! A tool to be indexed, and its searchable text: name, description, server, and the words of its input schema.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::weights::PART_COUNT;
use proxy_model::Definition;

/// Maximum depth to which a schema is read.
const MAX_DEPTH: usize = 6;

/// A tool to be indexed: its server, its name there, and its definition as the script has it.
#[derive(Clone, Debug)]
pub struct Tool {
    pub server: Arc<str>,
    /// Empty if the script made the tool.
    pub original_name: Arc<str>,
    pub definition: Arc<Definition>,
}

/// Whether a search may find the tool at this position.
pub(super) fn is_among(among: Option<&[bool]>, position: usize) -> bool {
    among.is_none_or(|among| among.get(position).copied().unwrap_or(false))
}

/// The text of each part, in the order of [`super::weights::ToolPart`].
pub(super) fn parts(server: &str, definition: &Definition) -> [String; PART_COUNT] {
    let object: Map<String, Value> = serde_json::from_str(definition.raw().get()).unwrap_or_default();
    let text = |member: &str| object.get(member).and_then(Value::as_str).unwrap_or_default();
    let mut schema_text = SchemaText::default();
    if let Some(schema) = object.get("inputSchema") {
        schema_text.read(schema, 0);
    }
    let description = match text("title") {
        "" => text("description").to_owned(),
        title => format!("{title}. {}", text("description")),
    };
    [
        definition.key().to_owned(),
        description,
        schema_text.descriptions,
        server.to_owned(),
        schema_text.names,
        schema_text.choices,
    ]
}

/// The words of a schema.
#[derive(Default)]
struct SchemaText {
    names: String,
    descriptions: String,
    choices: String,
}

impl SchemaText {
    fn read(&mut self, schema: &Value, depth: usize) {
        if depth > MAX_DEPTH {
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
