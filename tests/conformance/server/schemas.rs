//! Tools whose schemas matter more than what they do.

use rmcp::model::Tool;
use serde_json::json;

use crate::fixtures::{tool, tool_with_schema};

pub const WITH_HEADER: &str = "test_custom_header";

pub fn definitions() -> Vec<Tool> {
    let marked = json!({"value": {"type": "string", "x-mcp-header": "Value"}});
    vec![
        tool(WITH_HEADER, "Answers with a value that a header must repeat.", &marked),
        tool_with_schema("json_schema_2020_12_tool", "Has a schema of many keywords.", many_keywords()),
    ]
}

fn many_keywords() -> serde_json::Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}
