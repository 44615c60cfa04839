//! The typed handler: what it offers, whom it tells about changes.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ServerCapabilities, ServerConfig, SubscriptionFilter, Tool,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext, SubscriptionSink};
use rmcp::{ErrorData, Peer, RoleServer, ServerHandler};

use crate::{asking, tools};

#[derive(Default)]
pub struct Audience {
    pub extra_tool: bool,
    peers: Vec<Peer<RoleServer>>,
    sinks: Vec<SubscriptionSink>,
}

#[derive(Clone)]
pub struct Handler {
    legacy_only: bool,
    asking: bool,
    audience: Arc<Mutex<Audience>>,
}

impl Handler {
    pub fn new(legacy_only: bool, asking: bool) -> Self {
        Self { legacy_only, asking, audience: Arc::default() }
    }

    fn audience(&self) -> MutexGuard<'_, Audience> {
        self.audience.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lists one more tool from now on and tells everybody who wants to know.
    pub async fn grow(&self) {
        let (peers, sinks) = {
            let mut audience = self.audience();
            audience.extra_tool = true;
            (audience.peers.clone(), audience.sinks.clone())
        };
        for peer in peers {
            // A peer that left needs no news.
            let _ = peer.notify_tool_list_changed().await;
        }
        for sink in sinks {
            let _ = sink.notify_tool_list_changed().await;
        }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("rmcp-server", "1.0.0"))
            .with_instructions("The counterpart of the tests.")
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        const LEGACY: [ProtocolVersion; 4] = [
            ProtocolVersion::V_2024_11_05,
            ProtocolVersion::V_2025_03_26,
            ProtocolVersion::V_2025_06_18,
            ProtocolVersion::V_2025_11_25,
        ];
        let mut versions = LEGACY.to_vec();
        if !self.legacy_only {
            versions.push(ProtocolVersion::V_2026_07_28);
        }
        Cow::Owned(versions)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = if self.asking { asking::list() } else { tools::list(self.audience().extra_tool) };
        Ok(ListToolsResult::with_all_items(tools))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::list(true).into_iter().chain(asking::list()).find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if self.asking && asking::knows(&call.name) {
            return asking::call(call, context).await;
        }
        tools::call(self, call, context).await.map(CallToolResponse::Complete)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.audience().peers.push(context.peer);
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.audience().sinks.push(context.sink().clone());
        context.cancelled().await;
        Ok(())
    }
}
