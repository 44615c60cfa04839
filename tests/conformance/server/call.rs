//! A request for a tool or a prompt, with what its handler needs to know about who asks.

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, GetPromptRequestParams, InputResponses, JsonObject, ProtocolVersion,
};
use rmcp::service::RequestContext;
use serde_json::Value;

pub struct Call {
    pub name: String,
    pub arguments: JsonObject,
    pub answers: InputResponses,
    pub state: Option<String>,
    pub context: RequestContext<RoleServer>,
}

impl Call {
    pub fn of_tool(params: CallToolRequestParams, context: RequestContext<RoleServer>) -> Self {
        Self {
            name: params.name.into_owned(),
            arguments: params.arguments.unwrap_or_default(),
            answers: params.input_responses.unwrap_or_default(),
            state: params.request_state,
            context,
        }
    }

    pub fn of_prompt(params: GetPromptRequestParams, context: RequestContext<RoleServer>) -> Self {
        Self {
            name: params.name,
            arguments: params.arguments.unwrap_or_default(),
            answers: params.input_responses.unwrap_or_default(),
            state: params.request_state,
            context,
        }
    }

    /// An argument as text; empty if there is none.
    pub fn text(&self, argument: &str) -> &str {
        self.arguments.get(argument).and_then(Value::as_str).unwrap_or_default()
    }

    pub fn is_stateless(&self) -> bool {
        self.context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
    }

    pub fn capabilities(&self) -> ClientCapabilities {
        self.context.client_capabilities().unwrap_or_default()
    }
}
