//! What this server asks clients for.

use rmcp::ErrorData;
use rmcp::model::{ClientCapabilities, InputRequest, InputRequests};
use serde_json::{Value, json};

use crate::fixtures::typed;

/// A form with these fields, all of them to be filled in.
pub fn form(message: &str, properties: Value) -> Result<InputRequest, ErrorData> {
    let required: Vec<&String> = properties.as_object().map(|names| names.keys().collect()).unwrap_or_default();
    let schema = json!({"type": "object", "properties": properties, "required": required});
    form_with_schema(message, schema)
}

pub fn form_with_schema(message: &str, schema: Value) -> Result<InputRequest, ErrorData> {
    typed(json!({
        "method": "elicitation/create",
        "params": {"mode": "form", "message": message, "requestedSchema": schema},
    }))
}

pub fn sampling(prompt: &str) -> Result<InputRequest, ErrorData> {
    let message = json!({"role": "user", "content": {"type": "text", "text": prompt}});
    typed(json!({"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 100}}))
}

pub fn roots() -> Result<InputRequest, ErrorData> {
    typed(json!({"method": "roots/list"}))
}

pub fn one(key: &str, question: InputRequest) -> InputRequests {
    InputRequests::from([(key.to_owned(), question)])
}

/// Whether the client said that it can answer such a question.
pub fn answerable(question: &InputRequest, capabilities: &ClientCapabilities) -> bool {
    match question {
        InputRequest::CreateMessage(_) => capabilities.sampling.is_some(),
        InputRequest::Elicitation(_) => capabilities.elicitation.is_some(),
        InputRequest::ListRoots(_) => capabilities.roots.is_some(),
        _ => false,
    }
}

/// The capability a client needs for it.
pub fn capability(question: &InputRequest) -> Result<ClientCapabilities, ErrorData> {
    let name = match question {
        InputRequest::CreateMessage(_) => "sampling",
        InputRequest::Elicitation(_) => "elicitation",
        _ => "roots",
    };
    typed(json!({name: {}}))
}
