//! The MCP server. rmcp speaks both eras of the protocol.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};

use super::answer;
use super::folder::PolicyFolder;
use super::instructions::instructions;
use super::tool_list::tools;
use super::tools::Tools;

/// Serves standard input and output until the client closes them.
pub(super) async fn serve(folder: PolicyFolder) -> Result<(), String> {
    let server = AuthorServer { tools: Arc::new(Tools::new(folder)) };
    let running = server.serve(rmcp::transport::io::stdio_pipes()).await.map_err(|error| error.to_string())?;
    running.waiting().await.map(drop).map_err(|error| error.to_string())
}

#[derive(Clone)]
struct AuthorServer {
    tools: Arc<Tools>,
}

impl ServerHandler for AuthorServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("proxy-author", env!("CARGO_PKG_VERSION")))
            .with_instructions(instructions(&self.tools.folder))
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        tokio::select! {
            answered = self.tools.call(&call.name, call.arguments) => match answered {
                Some(answered) => Ok(CallToolResponse::Complete(answer::result(answered))),
                None => Err(ErrorData::invalid_params(format!("unknown tool `{}`", call.name), None)),
            },
            // The child process ends with the future that waits for it.
            () = context.ct.cancelled() => Err(ErrorData::internal_error("the call was cancelled", None)),
        }
    }
}
