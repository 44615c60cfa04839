//! Content blocks that handlers return without the result around them: images, audio, embedded resources and links.

use serde_json::{Map, Value, json};

pub(super) fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// Whether a returned dict is one block of content that is not text. Text blocks look too much like data.
pub(super) fn is_block(value: &Map<String, Value>) -> bool {
    let has = |member: &str| value.get(member).is_some_and(Value::is_string);
    match value.get("type").and_then(Value::as_str) {
        Some("image" | "audio") => has("data") && has("mimeType"),
        Some("resource") => value.get("resource").is_some_and(|resource| resource["uri"].is_string()),
        Some("resource_link") => has("uri") && has("name"),
        _ => false,
    }
}

/// Whether a returned list is content: blocks and texts, and at least one block.
pub(super) fn is_list(values: &[Value]) -> bool {
    let is_block = |value: &Value| value.as_object().is_some_and(is_block);
    values.iter().any(is_block) && values.iter().all(|value| value.is_string() || is_block(value) || is_text(value))
}

fn is_text(value: &Value) -> bool {
    value["type"] == "text" && value["text"].is_string()
}

/// The blocks of such a list.
pub(super) fn blocks(values: Vec<Value>) -> Value {
    let block = |value: Value| match value {
        Value::String(text) => text_block(&text),
        block => block,
    };
    values.into_iter().map(block).collect()
}

/// The content of a resource for a returned block; `None` for a link, which has none.
pub(super) fn of_resource(mut block: Map<String, Value>, uri: &str) -> Option<Value> {
    match block.remove("data") {
        Some(data) => {
            let mut content = Map::new();
            content.insert("uri".to_owned(), uri.into());
            content.extend(block.remove("mimeType").map(|mime_type| ("mimeType".to_owned(), mime_type)));
            content.insert("blob".to_owned(), data);
            Some(content.into())
        }
        None => block.remove("resource"),
    }
}
