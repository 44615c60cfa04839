//! An extension as a backend: called like a server, but its handlers run in this process.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::runtime::Handle;

use super::host::extension_host;
use super::{Extension, ExtensionCallError, ExtensionItem};
use proxy_builtins::{completable_names, unknown_argument};
use proxy_fiber::Pool;
use proxy_json::{Object, Raw, RawRef};
use proxy_mcp_client::{
    Answer, Backend, BackendCall, CallError, ConnectedBackend, LocalBackend, Peer, PerPersonBackend,
};
use proxy_model::lock::ViewLock;
use proxy_model::{
    BackendKind, BackendView, ItemKind, JournalSnapshot, Lists, ServerInfo, error_result, error_result_with,
    no_completion,
};
use proxy_script::{FailureKind, Host, Limits, Stop};
use proxy_wire::{CompletionParams, RpcError, code, completion};

/// The MCP Apps extension: tools with a user interface.
const APPS: &str = "io.modelcontextprotocol/ui";

pub struct ExtensionBackend {
    extension: Extension,
    view: Arc<BackendView>,
    namespace: Arc<str>,
    pool: Pool,
}

impl ExtensionBackend {
    pub fn new(extension: Extension, pool: Pool) -> Self {
        let mut lists = Lists::default();
        for item in &extension.items {
            lists.of_mut(item.kind).push(Arc::clone(&item.definition));
        }
        let offered = ItemKind::ALL.into_iter().filter(|kind| !lists.of(*kind).is_empty());
        let mut capabilities: Map<String, Value> =
            offered.map(|kind| (kind.capability().to_owned(), json!({}))).collect();
        if extension.items.iter().any(ExtensionItem::has_interface) {
            capabilities.insert("extensions".to_owned(), json!({ APPS: {} }));
        }
        if extension.items.iter().any(|item| item.completers.is_some()) {
            capabilities.insert("completions".to_owned(), json!({}));
        }
        if extension.items.iter().any(|item| item.refresh_interval().is_some()) {
            capabilities.insert(ItemKind::Resource.capability().to_owned(), json!({"subscribe": true}));
        }
        let view = BackendView::ready(
            &extension.name,
            BackendKind::Extension,
            ServerInfo {
                name: extension.name.clone(),
                version: extension.version.clone(),
                instructions: String::new(),
                capabilities: capabilities.into(),
                ..ServerInfo::default()
            },
            lists,
        );
        let namespace = format!("extension:{}", extension.name).into();
        ExtensionBackend { extension, view: Arc::new(view), namespace, pool }
    }

    pub fn name(&self) -> &str {
        &self.extension.name
    }

    pub fn source_name(&self) -> &str {
        &self.extension.source_name
    }

    /// The files that the extension loaded or read while it was loaded.
    pub fn files(&self) -> &[PathBuf] {
        &self.extension.files
    }

    fn handler_call(&self, call: &BackendCall) -> Result<HandlerCall, CallError> {
        let invalid = |message: &str| CallError::Rpc(RpcError::invalid_params(message));
        let Some(kind) = ItemKind::used_by(&call.method) else {
            return Err(CallError::Rpc(RpcError::method_not_found(&call.method)));
        };
        let object = Object::of(&call.params).map_err(|error| invalid(&error.to_string()))?;
        let key = object.string(kind.use_member()).unwrap_or_default();
        let item = self.find(kind, &key).ok_or_else(|| unknown(kind, &key))?.clone();
        let arguments = match item.kind {
            ItemKind::Tool | ItemKind::Prompt => object.get("arguments").unwrap_or(RawRef::EMPTY_OBJECT).to_owned(),
            ItemKind::Resource | ItemKind::ResourceTemplate => item.resource_arguments(&key),
        };
        let host = extension_host(call, &self.view.name, &self.namespace);
        Ok(HandlerCall { item, key, arguments, host })
    }

    /// Completes an argument of a prompt or template.
    async fn complete(&self, call: &BackendCall) -> Result<Answer, CallError> {
        let params = CompletionParams::read(&call.params).map_err(CallError::Rpc)?;
        let item = self.extension.find(params.kind, &params.key).ok_or_else(|| unknown(params.kind, &params.key))?;
        let Some(completers) = item.completers.clone() else { return Ok(Answer { result: no_completion() }) };
        let argument = params.argument().map_err(CallError::Rpc)?;
        if !completable_names(item.kind, &item.definition).contains(&argument.name) {
            return Err(CallError::Rpc(unknown_argument(item.kind, &params.key, &argument.name)));
        }
        let host = extension_host(call, &self.view.name, &self.namespace);
        let completed = self.pool.run(move || completers.complete(&argument, &host)).await;
        match completed {
            Ok(None) => Ok(Answer { result: no_completion() }),
            Ok(Some(Ok(result))) => Ok(Answer { result }),
            Ok(Some(Err(failure))) if matches!(failure.kind, FailureKind::Stopped(Stop::Cancelled)) => {
                Err(CallError::Cancelled)
            }
            Ok(Some(Err(failure))) => failed(item, &ExtensionCallError::Failed(failure)),
            Err(error) => {
                tracing::error!(extension = self.name(), %error, "a completion did not finish");
                Err(CallError::Rpc(RpcError::internal(&format!("the completion did not finish: {error}"))))
            }
        }
    }

    /// Finds an item. A URI that is not a listed resource may match a template.
    fn find(&self, kind: ItemKind, key: &str) -> Option<&ExtensionItem> {
        let matching = || self.extension.of(ItemKind::ResourceTemplate).find(|item| item.variables(key).is_some());
        self.extension.find(kind, key).or_else(|| if kind == ItemKind::Resource { matching() } else { None })
    }
}

fn unknown(kind: ItemKind, key: &str) -> CallError {
    let code = if kind == ItemKind::Resource { code::RESOURCE_NOT_FOUND } else { code::INVALID_PARAMS };
    CallError::Rpc(RpcError::new(code, &format!("unknown {}: {key}", kind.noun())))
}

/// A call of a handler, ready to run on any thread.
struct HandlerCall {
    item: ExtensionItem,
    key: String,
    arguments: Raw,
    host: Arc<Host>,
}

impl HandlerCall {
    fn run(self) -> Result<Answer, CallError> {
        let outcome = self.item.call(&self.arguments, self.host, &Limits::HANDLER);
        match outcome.and_then(|returned| self.item.shaped(returned, &self.key)) {
            Ok(result) => Ok(Answer { result }),
            Err(ExtensionCallError::Failed(failure))
                if matches!(failure.kind, FailureKind::Stopped(Stop::Cancelled)) =>
            {
                Err(CallError::Cancelled)
            }
            Err(ExtensionCallError::Failed(failure)) if matches!(failure.kind, FailureKind::Stopped(Stop::Input)) => {
                Err(CallError::Asks(JournalSnapshot::default()))
            }
            Err(error) => failed(&self.item, &error),
        }
    }
}

/// The error of a tool is a result; that of any other item is a JSON-RPC error.
fn failed(item: &ExtensionItem, error: &ExtensionCallError) -> Result<Answer, CallError> {
    let mut data = None;
    if let ExtensionCallError::Failed(failure) = error {
        tracing::warn!(item = item.definition.key(), "{}", failure.diagnostic);
        match &failure.kind {
            FailureKind::Failed { data: given } => data.clone_from(given),
            FailureKind::TimedOut { data } => {
                return Ok(Answer { result: item.checked(error_result_with(&error.to_string(), data.clone())) });
            }
            _ => {}
        }
    }
    let text = error.to_string();
    match (item.kind, error) {
        (ItemKind::Tool, _) => Ok(Answer { result: error_result(&text) }),
        (_, ExtensionCallError::Arguments(_)) => Err(CallError::Rpc(RpcError::invalid_params(&text))),
        _ => Err(CallError::Rpc(match &data {
            Some(data) => RpcError::with_data(code::INTERNAL, &text, data),
            None => RpcError::internal(&text),
        })),
    }
}

impl Backend for ExtensionBackend {
    fn view(&self) -> Arc<BackendView> {
        Arc::clone(&self.view)
    }

    fn lock(&self, _: Option<&dyn Peer>) -> Option<Arc<ViewLock>> {
        None
    }

    fn call(&self, call: BackendCall) -> BoxFuture<'_, Result<Answer, CallError>> {
        Box::pin(async move {
            if call.method == completion::METHOD {
                return self.complete(&call).await;
            }
            let handler_call = self.handler_call(&call)?;
            self.pool.run(move || handler_call.run()).await.unwrap_or_else(|error| {
                tracing::error!(extension = self.name(), %error, "a handler did not finish");
                Ok(Answer { result: error_result(&format!("the tool did not finish: {error}")) })
            })
        })
    }

    fn is_in_process(&self) -> bool {
        true
    }

    /// Runs on the caller's thread: a handler that calls an extension must not wait for a second worker.
    fn call_blocking(&self, call: BackendCall, _: &Handle) -> Result<Answer, CallError> {
        self.handler_call(&call)?.run()
    }

    fn connected(&self) -> Option<&dyn ConnectedBackend> {
        None
    }

    fn local(&self) -> Option<&dyn LocalBackend> {
        Some(self)
    }

    fn per_person(&self) -> Option<&dyn PerPersonBackend> {
        None
    }
}

impl LocalBackend for ExtensionBackend {
    fn refresh_interval(&self, uri: &str) -> Option<Duration> {
        self.extension.find(ItemKind::Resource, uri)?.refresh_interval()
    }

    fn refresh(&self, call: BackendCall) -> BoxFuture<'_, Result<Answer, CallError>> {
        Box::pin(async move {
            let handler_call = self.handler_call(&call)?;
            let run = self.pool.run(move || {
                let HandlerCall { item, key, arguments, host } = handler_call;
                let outcome = item.call(&arguments, host, &Limits::HANDLER);
                outcome.and_then(|returned| item.shaped(returned, &key))
            });
            let message = match run.await {
                Ok(Ok(result)) => return Ok(Answer { result }),
                Ok(Err(ExtensionCallError::Failed(failure))) => failure.diagnostic.to_string(),
                Ok(Err(error)) => error.to_string(),
                Err(error) => format!("the handler did not finish: {error}"),
            };
            Err(CallError::Failed { message, data: None })
        })
    }
}
