//! The tools: `echo`, `add`, `slow` with progress, and `grow`, which adds the tool `extra`; with resources
//! also `touch`, which tells of an update.

use std::time::Duration;

use rmcp::model::{CallToolRequestParams, CallToolResult, ContentBlock, JsonObject, ProgressNotificationParam, Tool};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use crate::handler::Handler;

pub fn list(extra: bool, resources: bool) -> Vec<Tool> {
    let mut tools = vec![
        tool("echo", "Returns its arguments.", &json!({"text": {"type": "string"}})),
        tool("add", "Adds two numbers.", &json!({"a": {"type": "number"}, "b": {"type": "number"}})),
        tool(
            "slow",
            "Reports progress while it waits.",
            &json!({"steps": {"type": "integer"}, "ms": {"type": "integer"}}),
        ),
        tool("grow", "Adds the tool `extra`.", &json!({})),
    ];
    if resources {
        tools.push(tool("touch", "Tells of an update of the resource.", &json!({})));
    }
    if extra {
        tools.push(tool("extra", "Was not always there.", &json!({})));
    }
    tools
}

fn tool(name: &'static str, description: &'static str, properties: &Value) -> Tool {
    let mut schema = JsonObject::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.clone());
    Tool::new(name, description, schema)
}

pub async fn call(
    handler: &Handler,
    call: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    let arguments = Value::Object(call.arguments.unwrap_or_default());
    match call.name.as_ref() {
        "echo" | "extra" => Ok(CallToolResult::structured(arguments)),
        "add" => {
            let sum = arguments["a"].as_f64().unwrap_or_default() + arguments["b"].as_f64().unwrap_or_default();
            Ok(CallToolResult::structured(json!({"sum": sum})))
        }
        "touch" => {
            handler.touch().await;
            Ok(CallToolResult::success(vec![ContentBlock::text("touched")]))
        }
        "slow" => slow(&arguments, context).await,
        "grow" => {
            handler.grow().await;
            Ok(CallToolResult::success(vec![ContentBlock::text("grown")]))
        }
        name => Err(ErrorData::invalid_params(format!("there is no tool {name}"), None)),
    }
}

async fn slow(arguments: &Value, context: RequestContext<RoleServer>) -> Result<CallToolResult, ErrorData> {
    let steps = arguments["steps"].as_u64().unwrap_or(3);
    let pause = Duration::from_millis(arguments["ms"].as_u64().unwrap_or(0));
    for step in 1..=steps {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = context.ct.cancelled() => return Err(ErrorData::internal_error("cancelled", None)),
        }
        if let Some(token) = context.meta.get_progress_token() {
            let progress = ProgressNotificationParam::new(token, step as f64);
            // Progress is a courtesy; the result matters.
            let _ = context.peer.notify_progress(progress).await;
        }
    }
    Ok(CallToolResult::structured(json!({"steps": steps})))
}
