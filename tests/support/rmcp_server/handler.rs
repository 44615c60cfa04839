//! The typed handler: what it offers, whom it tells about changes.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, Resource, ResourceUpdatedNotificationParam, ServerCapabilities,
    ServerConfig, SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext, SubscriptionSink};
use rmcp::{ErrorData, Peer, RoleServer, ServerHandler};

use crate::remembering::{Memory, Sessions};
use crate::{asking, remembering, tools};

#[derive(Default)]
pub struct Audience {
    pub extra_tool: bool,
    peers: Vec<Peer<RoleServer>>,
    sinks: Vec<SubscriptionSink>,
    /// Who follows which resource in the older era.
    followers: Vec<(Peer<RoleServer>, String)>,
}

/// The resource it has, where it has any.
const GREETING: &str = "memo://greeting";

#[derive(Clone)]
pub struct Handler {
    legacy_only: bool,
    resources: bool,
    asking: bool,
    memory: Option<Arc<Memory>>,
    audience: Arc<Mutex<Audience>>,
}

impl Handler {
    pub fn new(legacy_only: bool, resources: bool, asking: bool) -> Self {
        Self { legacy_only, resources, asking, memory: None, audience: Arc::default() }
    }

    /// The handler of a new session that remembers something.
    pub fn remembering(&self, sessions: &Arc<Sessions>) -> Self {
        Self { memory: Some(Memory::of_new_session(sessions)), ..self.clone() }
    }

    fn audience(&self) -> MutexGuard<'_, Audience> {
        self.audience.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells everybody who follows the resource that it was updated.
    pub async fn touch(&self) {
        let (followers, sinks) = {
            let audience = self.audience();
            (audience.followers.clone(), audience.sinks.clone())
        };
        for (peer, uri) in followers {
            let _ = peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await;
        }
        for sink in sinks {
            let _ = sink.notify_resource_updated(GREETING).await;
        }
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
        let mut capabilities = ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
        if self.resources {
            let resources = ServerCapabilities::builder().enable_resources().enable_resources_subscribe().build();
            capabilities.resources = resources.resources;
        }
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
        if self.memory.is_some() {
            return Ok(ListToolsResult::with_all_items(remembering::list()));
        }
        let tools = if self.asking { asking::list() } else { tools::list(self.audience().extra_tool, self.resources) };
        Ok(ListToolsResult::with_all_items(tools))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::list(true, true)
            .into_iter()
            .chain(asking::list())
            .chain(remembering::list())
            .find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(memory) = self.memory.as_ref().filter(|_| call.name == "remember") {
            return Ok(CallToolResponse::Complete(memory.call(call, &context)));
        }
        if self.asking && asking::knows(&call.name) {
            return asking::call(call, context).await;
        }
        tools::call(self, call, context).await.map(CallToolResponse::Complete)
    }

    async fn list_resources(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(vec![Resource::new(GREETING, "greeting")]))
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.audience().followers.push((context.peer, request.uri));
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.audience().followers.retain(|(_, uri)| *uri != request.uri);
        Ok(())
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
