//! `Mcp-Param-*`: the arguments a tool's schema asks to see in headers.

use serde_json::Value;

use crate::headers::{decode, mismatch};
use crate::message::Refusal;
use crate::request::Request;
use crate::shared::Shared;

pub fn validate(shared: &Shared, request: &Request) -> Result<(), Refusal> {
    if request.method != "tools/call" {
        return Ok(());
    }
    let name = request.text_parameter("name").unwrap_or_default();
    let Some(tool) = shared.tools().iter().find_map(|tool| named(tool.get(), &name)) else {
        return Ok(());
    };
    let arguments = request
        .parameter("arguments")
        .and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok())
        .unwrap_or_default();
    let mut annotated = Vec::new();
    collect(&tool["inputSchema"], &arguments, &mut annotated);
    annotated.into_iter().try_for_each(|(header, value)| compare(request, &header, &value))
}

fn named(tool: &str, name: &str) -> Option<Value> {
    let tool: Value = serde_json::from_str(tool).ok()?;
    (tool["name"] == name).then_some(tool)
}

/// Every annotated property with its value in the arguments, `null` where there is none.
fn collect(schema: &Value, arguments: &Value, found: &mut Vec<(String, Value)>) {
    let Some(properties) = schema["properties"].as_object() else { return };
    for (key, property) in properties {
        if let Some(header) = property["x-mcp-header"].as_str() {
            found.push((format!("mcp-param-{}", header.to_ascii_lowercase()), arguments[key].clone()));
        }
        collect(property, &arguments[key], found);
    }
}

fn compare(request: &Request, header: &str, value: &Value) -> Result<(), Refusal> {
    let wanted = usize::from(!value.is_null());
    let count = request.header_count(header);
    if count != wanted {
        return Err(mismatch(format!("{header} is there {count} times instead of {wanted}")));
    }
    if wanted == 0 {
        return Ok(());
    }
    let given = decode(request.header(header).unwrap_or_default())?;
    let equal = match value {
        Value::String(text) => given == *text,
        Value::Number(number) => given.parse::<f64>().ok() == number.as_f64(),
        Value::Bool(flag) => given == if *flag { "true" } else { "false" },
        _ => false,
    };
    if equal { Ok(()) } else { Err(mismatch(format!("{header} is `{given}`, the body says {value}"))) }
}
