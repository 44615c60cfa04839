//! Input and output schemas of tools by name.

use serde_json::{Map, Value, json};

use proxy_model::Definition;

pub fn json_schema<'a>(tools: impl Iterator<Item = &'a Definition>) -> Value {
    let entries = tools.map(|tool| {
        let mut entry = json!({"arguments": tool.member("inputSchema").unwrap_or_else(|| json!({"type": "object"}))});
        if let Some(schema) = tool.member("outputSchema") {
            entry["result"] = schema;
        }
        if !tool.text("description").is_empty() {
            entry["description"] = tool.text("description").into();
        }
        (tool.key().to_owned(), entry)
    });
    Value::Object(entries.collect::<Map<_, _>>())
}
