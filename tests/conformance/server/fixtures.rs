//! Small things that many fixtures are made of.

use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock, JsonObject, Tool};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// One red pixel.
pub const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";

/// A sound of no samples.
pub const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

/// A tool whose arguments are these properties, all of them required.
pub fn tool(name: &'static str, description: &'static str, properties: &Value) -> Tool {
    let required: Vec<&String> = properties.as_object().map(|names| names.keys().collect()).unwrap_or_default();
    tool_with_schema(name, description, json!({"type": "object", "properties": properties, "required": required}))
}

pub fn tool_with_schema(name: &'static str, description: &'static str, schema: Value) -> Tool {
    let schema = match schema {
        Value::Object(members) => members,
        _ => JsonObject::new(),
    };
    Tool::new(name, description, schema)
}

pub fn text(text: impl Into<String>) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}

/// A part of the model that is written as the JSON it becomes.
pub fn typed<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|problem| ErrorData::internal_error(problem.to_string(), None))
}
