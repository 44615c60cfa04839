//! Tools that ask the client one thing each and answer with what they were told: `ask_form`, `ask_url`, `ask_model`,
//! `ask_folders`. In a session by requests of the server's own, without one by `input_required` results.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock, InputRequest,
    InputRequests, InputRequiredResult, JsonObject, ProtocolVersion, ServerRequest, Tool,
};
use rmcp::service::{RequestContext, ServiceError};
use rmcp::{ErrorData, RoleServer};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const TOOLS: [&str; 4] = ["ask_form", "ask_url", "ask_model", "ask_folders"];

pub fn list() -> Vec<Tool> {
    TOOLS.iter().map(|name| Tool::new(*name, "Asks the client.", JsonObject::new())).map(with_schema).collect()
}

fn with_schema(mut tool: Tool) -> Tool {
    let schema = JsonObject::from_iter([("type".to_owned(), Value::from("object"))]);
    tool.input_schema = schema.into();
    tool
}

pub fn knows(name: &str) -> bool {
    TOOLS.contains(&name)
}

pub async fn call(
    params: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let (question, capability) = question(&params.name)?;
    let stateless = context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
    if !declared(&context.client_capabilities().unwrap_or_default(), capability) {
        return Err(lacking(capability, stateless)?);
    }
    let answer = match params.input_responses.and_then(|answers| answers.get("answer").cloned()) {
        Some(answer) => answer,
        None if stateless => {
            let asked = InputRequests::from([("answer".to_owned(), question)]);
            return Ok(InputRequiredResult::from_input_requests(asked).into());
        }
        None => ask(question, &context).await?,
    };
    Ok(CallToolResult::success(vec![ContentBlock::text(answer.to_string())]).into())
}

/// The question of a tool, and the capability it takes to answer it.
fn question(tool: &str) -> Result<(InputRequest, &'static str), ErrorData> {
    let (method, params, capability) = match tool {
        "ask_form" => {
            let schema =
                json!({"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]});
            let params = json!({"mode": "form", "message": "Which colour?", "requestedSchema": schema});
            ("elicitation/create", params, "elicitation")
        }
        "ask_url" => {
            let place = "https://example.com/sign-in";
            let params = json!({"mode": "url", "message": "Please sign in", "url": place, "elicitationId": "visit-1"});
            ("elicitation/create", params, "elicitation")
        }
        "ask_model" => {
            let message = json!({"role": "user", "content": {"type": "text", "text": "Say a word."}});
            ("sampling/createMessage", json!({"messages": [message], "maxTokens": 8}), "sampling")
        }
        _ => ("roots/list", json!({}), "roots"),
    };
    let question = typed(json!({"method": method, "params": params}))?;
    Ok((question, capability))
}

fn declared(capabilities: &ClientCapabilities, capability: &str) -> bool {
    match capability {
        "elicitation" => capabilities.elicitation.is_some(),
        "sampling" => capabilities.sampling.is_some(),
        _ => capabilities.roots.is_some(),
    }
}

fn lacking(capability: &str, stateless: bool) -> Result<ErrorData, ErrorData> {
    if stateless {
        return Ok(ErrorData::missing_required_client_capability(typed(json!({capability: {}}))?));
    }
    Ok(ErrorData::invalid_request(format!("the client has not declared {capability}"), None))
}

async fn ask(question: InputRequest, context: &RequestContext<RoleServer>) -> Result<Value, ErrorData> {
    let request = match question {
        InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
        InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
        InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
        _ => return Err(ErrorData::internal_error("a question of an unknown kind", None)),
    };
    let answer = context.peer.send_request(request).await.map_err(|failure| match failure {
        ServiceError::McpError(error) => error,
        other => ErrorData::internal_error(other.to_string(), None),
    })?;
    serde_json::to_value(answer).map_err(|problem| ErrorData::internal_error(problem.to_string(), None))
}

/// A part of rmcp's model that is written as the JSON it becomes.
fn typed<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|problem| ErrorData::internal_error(problem.to_string(), None))
}
