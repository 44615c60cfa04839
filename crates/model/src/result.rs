//! Conversion of a handler's return value to an MCP result.

use serde_json::{Map, Value, json};

use super::content::{self, text_block};
use proxy_json::{Object, Raw, RawRef, quote};

/// A tool result with `isError` and this text.
pub fn error_result(text: &str) -> Raw {
    let text = format!("{{\"content\":[{{\"type\":\"text\",\"text\":{}}}],\"isError\":true}}", quote(text));
    proxy_json::valid(text).unwrap_or_else(|_| proxy_json::RawRef::NULL.to_owned())
}

/// The member of `_meta` that says that the server refused the params.
const INVALID_PARAMS: &str = "proxy/invalidParams";

/// The error result for a JSON-RPC error with this text that says that the params were invalid.
pub fn invalid_params_result(text: &str) -> Raw {
    let content = json!([text_block(text)]);
    proxy_json::raw(&json!({"content": content, "isError": true, "_meta": {INVALID_PARAMS: true}}))
}

/// Whether a result is that of [`invalid_params_result`].
pub fn is_invalid_params_result(result: &RawRef) -> bool {
    let meta = Object::of(result).ok().and_then(|result| result.get("_meta").and_then(|meta| Object::of(meta).ok()));
    meta.is_some_and(|meta| meta.get(INVALID_PARAMS).is_some())
}

/// Whether a tool result has `isError`.
pub fn is_error_result(result: &RawRef) -> bool {
    Object::of(result).is_ok_and(|result| result.get("isError").is_some_and(|flag| flag.get() == "true"))
}

/// The member of `_meta` for the data of an error that does not match the output schema of its tool.
const ERROR_DATA: &str = "proxy/error";

/// A tool result with `isError`, this text, and data that a program can read in its structured content.
pub fn error_result_with(text: &str, data: Value) -> Map<String, Value> {
    members([("content", json!([text_block(text)])), ("isError", json!(true)), ("structuredContent", data)])
}

/// An error result without structured content; its data is in `_meta`. For tools with an output schema that the data does
/// not match: clients check the structured content of errors too.
pub(super) fn with_data_in_meta(mut result: Map<String, Value>) -> Map<String, Value> {
    if let Some(data) = result.shift_remove("structuredContent") {
        let meta = result.entry("_meta").or_insert_with(|| json!({}));
        if let Some(meta) = meta.as_object_mut() {
            meta.insert(ERROR_DATA.to_owned(), data);
        }
    }
    result
}

/// The tool result for a returned value. With `objects_only`, the client's revision requires structured content to be
/// an object.
pub fn shaped(value: Value, objects_only: bool) -> Map<String, Value> {
    match value {
        Value::Object(result) if is_result(&result) => with_content(result),
        Value::Null => members([("content", json!([]))]),
        Value::String(text) => members([("content", json!([text_block(&text)]))]),
        Value::Object(block) if content::is_block(&block) => members([("content", one(block.into()))]),
        Value::Array(list) if content::is_list(&list) => members([("content", content::blocks(list))]),
        data => {
            let text = data.to_string();
            let structured = if objects_only && !data.is_object() { json!({ "result": data }) } else { data };
            members([("content", json!([text_block(&text)])), ("structuredContent", structured)])
        }
    }
}

/// Whether a dict is a complete result: it has `isError`, `structuredContent`, or a list of content blocks.
fn is_result(value: &Map<String, Value>) -> bool {
    let blocks = value.get("content").and_then(Value::as_array);
    let typed = blocks.is_some_and(|blocks| blocks.iter().all(|block| block.get("type").is_some()));
    value.contains_key("isError") || value.contains_key("structuredContent") || typed
}

fn with_content(mut result: Map<String, Value>) -> Map<String, Value> {
    if !result.contains_key("content") {
        let blocks = match result.get("structuredContent") {
            Some(structured) => json!([text_block(&structured.to_string())]),
            None => json!([]),
        };
        result.insert("content".to_owned(), blocks);
    }
    result
}

fn one(value: Value) -> Value {
    Value::Array(vec![value])
}

fn members<const N: usize>(members: [(&str, Value); N]) -> Map<String, Value> {
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The value of a tool result: its structured content (`v` for a lone `{"result": v}`), or else its text parsed as
/// JSON, or else its text. Fails with the text of an error result.
pub fn payload(mut result: Map<String, Value>) -> Result<Value, String> {
    let text = text_of(&result);
    if result.get("isError") == Some(&Value::Bool(true)) {
        return Err(if text.is_empty() { "the tool failed without an error message".to_owned() } else { text });
    }
    match result.remove("structuredContent") {
        None | Some(Value::Null) => {}
        Some(Value::Object(mut members)) if members.len() == 1 && members.contains_key("result") => {
            return Ok(members.remove("result").unwrap_or_default());
        }
        Some(content) => return Ok(content),
    }
    Ok(serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

/// All text blocks, one per line.
fn text_of(result: &Map<String, Value>) -> String {
    let blocks = result.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let texts = blocks.iter().filter(|block| block["type"] == "text").filter_map(|block| block["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// The result of `resources/read` for a returned value; a string is the whole content.
pub fn shaped_contents(value: Value, uri: &str) -> Result<Map<String, Value>, String> {
    match value {
        Value::Object(result) if result.get("contents").is_some_and(Value::is_array) => Ok(result),
        Value::Object(result) if result.contains_key("isError") => Err(first_text(&result)),
        Value::String(text) => Ok(members([("contents", json!([{"uri": uri, "text": text}]))])),
        Value::Object(block) if content::is_block(&block) => content::of_resource(block, uri)
            .map(|content| members([("contents", one(content))]))
            .ok_or_else(|| "a resource handler returns no link".to_owned()),
        other => Err(format!(
            "a resource handler returns {{\"contents\": [...]}} or text, not {}",
            other_than_expected(&other)
        )),
    }
}

/// The result of `prompts/get` for a returned value; a string is one user message.
pub fn shaped_messages(value: Value) -> Result<Map<String, Value>, String> {
    match value {
        Value::Object(result) if result.get("messages").is_some_and(Value::is_array) => Ok(result),
        Value::Object(result) if result.contains_key("isError") => Err(first_text(&result)),
        Value::String(text) => Ok(members([("messages", json!([{"role": "user", "content": text_block(&text)}]))])),
        Value::Object(block) if content::is_block(&block) => {
            Ok(members([("messages", json!([{"role": "user", "content": block}]))]))
        }
        other => Err(format!(
            "a prompt handler returns {{\"messages\": [...]}} or text, not {}",
            other_than_expected(&other)
        )),
    }
}

/// The text of an error result that is encoded.
pub fn error_text(result: &RawRef) -> String {
    first_text(&serde_json::from_str(result.get()).unwrap_or_default())
}

/// The text of an error result.
fn first_text(result: &Map<String, Value>) -> String {
    let text = result.get("content").and_then(|content| content[0]["text"].as_str());
    text.unwrap_or("the handler failed without an error message").to_owned()
}

/// What a handler returned instead of text or the expected dict.
fn other_than_expected(value: &Value) -> &'static str {
    if value.is_object() { "another dict" } else { type_of(value) }
}

/// The type of a value in Starlark, for messages.
pub(super) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "None",
        Value::Bool(_) => "a bool",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a dict",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(value: Value) -> Value {
        Value::Object(shaped(value, true))
    }

    #[test]
    fn text_none_and_data_become_results() {
        assert_eq!(shape(json!("hi")), json!({"content":[{"type":"text","text":"hi"}]}));
        assert_eq!(shape(Value::Null), json!({"content":[]}));
        assert_eq!(
            shape(json!([1, 2])),
            json!({"content":[{"type":"text","text":"[1,2]"}],"structuredContent":{"result":[1,2]}})
        );
        assert_eq!(
            Value::Object(shaped(json!([1]), false)),
            json!({"content":[{"type":"text","text":"[1]"}],"structuredContent":[1]})
        );
    }

    #[test]
    fn a_result_stays_a_result_and_gets_the_content_it_lacks() {
        let result = json!({"content":[{"type":"image","data":"","mimeType":"image/png"}],"x":1});
        assert_eq!(shape(result.clone()), result);
        assert_eq!(
            shape(json!({"structuredContent":{"a":1}})),
            json!({"structuredContent":{"a":1},"content":[{"type":"text","text":"{\"a\":1}"}]})
        );
    }

    #[test]
    fn content_that_is_not_text_needs_no_wrapping() {
        let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
        let link = json!({"type": "resource_link", "uri": "x://y", "name": "y"});
        assert_eq!(shape(image.clone()), json!({"content": [image]}));
        let text = json!({"type": "text", "text": "a caption"});
        assert_eq!(shape(json!([image, "a caption", link])), json!({"content": [image, text, link]}));
        let blob = json!({"type": "resource", "resource": {"uri": "x://z", "blob": "aGk="}});
        let contents = |value: &Value| shaped_contents(value.clone(), "x://y").map(Value::Object);
        assert_eq!(contents(&blob).unwrap(), json!({"contents": [{"uri": "x://z", "blob": "aGk="}]}));
        let read = json!({"contents": [{"uri": "x://y", "mimeType": "image/png", "blob": "aGk="}]});
        assert_eq!(contents(&image).unwrap(), read);
        assert!(contents(&link).is_err());
        let message = json!({"messages": [{"role": "user", "content": image}]});
        assert_eq!(Value::Object(shaped_messages(image).unwrap()), message);
        for data in [json!({"type": "image", "width": 3}), json!(["a", "b"]), json!([link, 1]), json!([])] {
            assert!(shape(data.clone()).get("structuredContent").is_some(), "{data}");
        }
    }

    #[test]
    fn a_dict_with_other_content_is_data() {
        let data = json!({"content": "a page"});
        assert_eq!(shape(data.clone())["structuredContent"], data);
    }
}
