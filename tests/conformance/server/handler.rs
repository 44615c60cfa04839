//! The typed handler: hands each request to the module that knows the answer.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams, CompleteResult, CompletionInfo,
    GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use crate::audience::Audience;
use crate::call::Call;
use crate::tasks::Tasks;
use crate::{prompts, resources, tools};

type Context = RequestContext<RoleServer>;
type Page = Option<PaginatedRequestParams>;

#[derive(Clone, Default)]
pub struct Handler {
    audience: Arc<Audience>,
    tasks: Tasks,
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_logging()
            .enable_completions()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_tasks()
            .build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new("conformance-server", "1.0.0"))
    }

    async fn list_tools(&self, _: Page, _: Context) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::definitions(&self.audience)))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::definitions(&self.audience).into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(&self, params: CallToolRequestParams, context: Context) -> Result<CallToolResponse, ErrorData> {
        tools::call(&Call::of_tool(params, context), &self.audience, &self.tasks).await
    }

    async fn get_task(&self, params: GetTaskParams, _: Context) -> Result<GetTaskResult, ErrorData> {
        self.tasks.manager.get_task(&params.task_id).map(GetTaskResult::new)
    }

    async fn update_task(&self, params: UpdateTaskParams, _: Context) -> Result<(), ErrorData> {
        self.tasks.manager.update_task(&params.task_id, params.input_responses)
    }

    async fn cancel_task(&self, params: CancelTaskParams, _: Context) -> Result<(), ErrorData> {
        self.tasks.manager.cancel_task(&params.task_id)
    }

    async fn list_resources(&self, _: Page, _: Context) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resources::all()))
    }

    async fn list_resource_templates(&self, _: Page, _: Context) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        resources::read(&params.uri).map(Into::into)
    }

    async fn subscribe(&self, params: SubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        resources::read(&params.uri).map(drop)
    }

    async fn unsubscribe(&self, params: UnsubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        resources::read(&params.uri).map(drop)
    }

    async fn list_prompts(&self, _: Page, _: Context) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::all(&self.audience)))
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        prompts::get(&Call::of_prompt(params, context)).await
    }

    async fn complete(&self, params: CompleteRequestParams, _: Context) -> Result<CompleteResult, ErrorData> {
        let values = vec![format!("{}ing", params.argument.value)];
        let values = CompletionInfo::new(values).map_err(|problem| ErrorData::internal_error(problem, None))?;
        Ok(CompleteResult::new(values))
    }

    async fn set_level(&self, params: SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        self.audience.set_log_level(params.level);
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.audience.join(context.peer);
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let number = self.audience.subscribe(context.sink().clone());
        context.cancelled().await;
        self.audience.leave(number);
        Ok(())
    }
}
