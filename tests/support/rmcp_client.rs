//! rmcp's typed client as the other side: it accepts only what another implementation accepts.
#![expect(deprecated, reason = "sampling and roots are on their way out of the protocol, not out of this test")]

use std::process::Command;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientConfig, ClientRequest, CreateMessageRequestParams,
    CreateMessageResult, ElicitRequestParams, ElicitResult, Implementation, JsonObject, ListRootsResult,
    ProgressNotificationParam, ProtocolVersion, Request, ResourceUpdatedNotificationParam, ServerNotification,
    ServerResult, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, RunningService, ServiceError, Subscription};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientCacheConfig, ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData, RoleClient};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::patience::{LONG_PATIENCE, PATIENCE, within};
use super::rmcp_person::Person;
use super::stderr_log::StderrLog;

/// What the server told unasked.
#[derive(Debug)]
pub enum Told {
    Progress(ProgressNotificationParam),
    ToolsChanged,
    Updated(String),
}

pub struct Handler {
    told: UnboundedSender<Told>,
    person: Arc<Person>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(self.person.capabilities(), Implementation::new("rmcp-client", "1.0.0"))
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    async fn create_elicitation(
        &self,
        question: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(self.person.elicited(&question))
    }

    async fn create_message(
        &self,
        question: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.person.sampled(&question)
    }

    async fn list_roots(&self, _context: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        self.person.folders()
    }

    async fn on_progress(&self, progress: ProgressNotificationParam, _context: NotificationContext<RoleClient>) {
        let _ = self.told.send(Told::Progress(progress));
    }

    async fn on_resource_updated(
        &self,
        updated: ResourceUpdatedNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let _ = self.told.send(Told::Updated(updated.uri));
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        let _ = self.told.send(Told::ToolsChanged);
    }
}

pub struct RmcpClient {
    pub service: RunningService<RoleClient, Handler>,
    told: Mutex<UnboundedReceiver<Told>>,
    stderr: StderrLog,
}

/// The handshake of the session-based era.
pub fn legacy() -> ClientLifecycleMode {
    ClientLifecycleMode::Initialize
}

/// Discovery and self-contained requests.
pub fn modern() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
}

impl RmcpClient {
    /// A client of a child process.
    pub async fn stdio(command: Command, lifecycle: ClientLifecycleMode) -> Self {
        Self::stdio_of(command, lifecycle, Arc::new(Person::absent())).await
    }

    /// The same with somebody who can be asked.
    pub async fn stdio_of(command: Command, lifecycle: ClientLifecycleMode, person: Arc<Person>) -> Self {
        let builder = TokioChildProcess::builder(tokio::process::Command::from(command));
        let (transport, stderr) =
            builder.stderr(std::process::Stdio::piped()).spawn().expect("cannot start the server");
        let mut stderr = match stderr.and_then(|stderr| stderr.into_owned_fd().ok()) {
            Some(pipe) => StderrLog::collect(std::fs::File::from(pipe)),
            None => StderrLog::none(),
        };
        // Whatever it is, it is just starting, and may be slow at that.
        stderr.patience = LONG_PATIENCE;
        let (told, heard) = unbounded_channel();
        let serving = Handler { told, person }.serve_with_lifecycle(transport, lifecycle);
        Self::connected(within("rmcp's handshake", &stderr, serving).await, heard, stderr).await
    }

    /// A client of a server over HTTP.
    pub async fn http(url: &str, stderr: StderrLog, lifecycle: ClientLifecycleMode) -> Self {
        Self::http_of(url, stderr, lifecycle, Arc::new(Person::absent())).await
    }

    pub async fn http_of(url: &str, stderr: StderrLog, lifecycle: ClientLifecycleMode, person: Arc<Person>) -> Self {
        let transport = StreamableHttpClientTransport::from_uri(url);
        let (told, heard) = unbounded_channel();
        let serving = Handler { told, person }.serve_with_lifecycle(transport, lifecycle);
        Self::connected(within("rmcp's handshake", &stderr, serving).await, heard, stderr).await
    }

    async fn connected<E: std::fmt::Debug>(
        service: Result<RunningService<RoleClient, Handler>, E>,
        heard: UnboundedReceiver<Told>,
        stderr: StderrLog,
    ) -> Self {
        let service = service
            .unwrap_or_else(|problem| panic!("rmcp cannot connect: {problem:?}\n--- stderr ---\n{}", stderr.text()));
        // A test wants what the server says now.
        service.peer().set_response_cache_config(ClientCacheConfig::disabled()).await;
        Self { service, told: Mutex::new(heard), stderr }
    }

    pub async fn tool_names(&self) -> Vec<String> {
        let listed = within("rmcp's tools/list", &self.stderr, self.service.peer().list_all_tools()).await;
        listed.expect("rmcp lists the tools").into_iter().map(|tool| tool.name.into_owned()).collect()
    }

    pub async fn call(&self, tool: &str, arguments: Value) -> CallToolResult {
        let called = self.try_call(tool, arguments).await;
        called.unwrap_or_else(|problem| panic!("{tool} failed: {problem:?}\n--- stderr ---\n{}", self.stderr.text()))
    }

    pub async fn try_call(&self, tool: &str, arguments: Value) -> Result<CallToolResult, ServiceError> {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        let arguments: JsonObject = arguments.into_iter().collect();
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        within("rmcp's tools/call", &self.stderr, self.service.call_tool(params)).await
    }

    /// One round of a call, as it came: for what this version of rmcp cannot read.
    pub async fn call_once(&self, params: Value) -> Value {
        let params = serde_json::from_value(params).expect("the params of a call");
        let request = ClientRequest::CallToolRequest(Request::new(params));
        let called = within("rmcp's tools/call", &self.stderr, self.service.peer().send_request(request)).await;
        match called.unwrap_or_else(|problem| panic!("{problem:?}\n--- stderr ---\n{}", self.stderr.text())) {
            ServerResult::CustomResult(result) => result.0,
            result => serde_json::to_value(result).expect("a result is JSON"),
        }
    }

    /// Follows a resource in the way of the session-based era.
    #[expect(deprecated, reason = "the older era has it")]
    pub async fn subscribe(&self, uri: &str) {
        let asked = self.service.peer().subscribe(SubscribeRequestParams::new(uri));
        within("rmcp's resources/subscribe", &self.stderr, asked).await.expect("the resource can be followed");
    }

    #[expect(deprecated, reason = "the older era has it")]
    pub async fn unsubscribe(&self, uri: &str) {
        let asked = self.service.peer().unsubscribe(UnsubscribeRequestParams::new(uri));
        within("rmcp's resources/unsubscribe", &self.stderr, asked).await.expect("nobody need follow it");
    }

    /// Follows a resource in the way of the stateless era.
    pub async fn listen_to(&self, uri: &str) -> Subscription {
        let filter = SubscriptionFilter::builder().resource_subscriptions([uri]).build();
        let listening = self.service.peer().listen(filter);
        within("rmcp's subscriptions/listen", &self.stderr, listening).await.expect("the resource can be followed")
    }

    /// The next resource that such a subscription says was updated.
    pub async fn updated(&self, subscription: &mut Subscription) -> String {
        match within("an update", &self.stderr, subscription.next()).await {
            Ok(Some(ServerNotification::ResourceUpdatedNotification(update))) => update.params.uri,
            other => panic!("expected an update, got {other:?}"),
        }
    }

    /// The next thing the server tells unasked.
    pub async fn told(&self) -> Told {
        let next = async { self.told.lock().await.recv().await };
        within("a notification", &self.stderr, next).await.expect("the handler lives as long as the client")
    }

    /// Ends the connection in order.
    pub async fn finish(self) {
        let ended = tokio::time::timeout(PATIENCE, self.service.cancel()).await;
        assert!(ended.is_ok(), "rmcp did not end the connection\n--- stderr ---\n{}", self.stderr.text());
    }
}
