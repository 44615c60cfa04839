//! A server that exists only in a test. It is a [`Backend`] like any other and records the calls it receives.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Map, Value as Json, json};

use super::approved::Approved;
use super::recording::RecordedValues;
use crate::testing::world::TestWorld;
use proxy_json::{Object, Raw, Schema, raw};
use proxy_mcp_client::{
    Answer, Backend, BackendCall, CallError, ConnectedBackend, LocalBackend, Peer, PerPersonBackend,
};
use proxy_model::lock::ViewLock;
use proxy_model::{
    BackendKind, BackendView, Definition, DefinitionError, ItemKind, Lists, ServerInfo, Status, UriTemplate,
    error_result, shaped, shaped_contents, shaped_messages,
};
use proxy_wire::{RpcError, code};

/// How an item replies.
#[derive(Clone, Debug)]
pub(crate) enum FakeReply {
    Value(Json),
    /// A function of the test, by its ID in the exchange.
    Function(String),
    /// An error with this text.
    Error(String),
}

#[derive(Debug)]
pub(crate) struct FakeItem {
    pub kind: ItemKind,
    pub definition: Arc<Definition>,
    pub reply: FakeReply,
}

pub(crate) struct FakeBackend {
    view: Arc<BackendView>,
    items: Vec<FakeItem>,
    world: Arc<TestWorld>,
    calls: RecordedValues,
}

/// A server as the test describes it.
pub(crate) struct FakeBackendSpec {
    pub name: String,
    pub status: Status,
    pub error: String,
    pub instructions: String,
    pub items: Vec<FakeItem>,
    /// What was approved of the server; `None` if it is not locked.
    pub approved: Option<Approved>,
}

impl FakeBackend {
    /// # Errors
    /// If a definition that was approved is invalid.
    pub(crate) fn new(spec: FakeBackendSpec, world: &Arc<TestWorld>) -> Result<Self, DefinitionError> {
        let mut lists = Lists::default();
        for item in &spec.items {
            lists.of_mut(item.kind).push(Arc::clone(&item.definition));
        }
        let nonempty = ItemKind::ALL.into_iter().filter(|kind| !lists.of(*kind).is_empty());
        let capabilities: Map<String, Json> = nonempty.map(|kind| (kind.capability().to_owned(), json!({}))).collect();
        let info = ServerInfo {
            name: spec.name.clone(),
            version: "1.0.0".to_owned(),
            instructions: spec.instructions,
            protocol_version: "2025-11-25".to_owned(),
            capabilities: capabilities.into(),
            ..ServerInfo::default()
        };
        let view = BackendView {
            status: spec.status,
            error: spec.error,
            ..BackendView::ready(&spec.name, BackendKind::Stdio, info, lists)
        };
        let view = match &spec.approved {
            Some(approved) => approved.published(&view)?,
            None => view,
        };
        Ok(FakeBackend {
            view: Arc::new(view),
            items: spec.items,
            world: Arc::clone(world),
            calls: RecordedValues::default(),
        })
    }

    /// The calls so far; the record grows as more arrive.
    pub(crate) fn calls(&self) -> RecordedValues {
        self.calls.clone()
    }

    fn find(&self, kind: ItemKind, key: &str) -> Option<&FakeItem> {
        let fits = |item: &&FakeItem| {
            item.kind == ItemKind::ResourceTemplate
                && UriTemplate::parse(item.definition.key()).is_some_and(|template| template.variables(key).is_some())
        };
        let exact = self.items.iter().find(|item| item.kind == kind && item.definition.key() == key);
        exact.or_else(|| self.items.iter().find(fits).filter(|_| kind == ItemKind::Resource))
    }

    async fn handle(&self, call: &BackendCall) -> Result<Raw, CallError> {
        if self.view.status.is_down() {
            return Err(CallError::Down { backend: Arc::clone(&self.view.name), reason: self.view.error.clone() });
        }
        let Some(kind) = ItemKind::used_by(&call.method) else {
            return Err(CallError::Rpc(RpcError::method_not_found(&call.method)));
        };
        let params =
            Object::of(&call.params).map_err(|error| CallError::Rpc(RpcError::invalid_params(&error.to_string())))?;
        let key = params.string(kind.use_member()).unwrap_or_default();
        let arguments = params.get("arguments").and_then(|raw| serde_json::from_str(raw.get()).ok());
        let arguments: Json = arguments.unwrap_or_else(|| json!({}));
        let (record, argument) = match kind {
            ItemKind::Tool | ItemKind::Prompt => {
                let noun = if kind == ItemKind::Tool { "tool" } else { "prompt" };
                (json!({ noun: key, "args": arguments }), arguments)
            }
            ItemKind::Resource | ItemKind::ResourceTemplate => (json!({ "resource": key }), json!({ "uri": key })),
        };
        self.calls.push(record);
        let Some(item) = self.find(kind, &key) else {
            let code = if kind == ItemKind::Resource { code::RESOURCE_NOT_FOUND } else { code::INVALID_PARAMS };
            return Err(CallError::Rpc(RpcError::new(code, &format!("unknown {}: {key}", kind.noun()))));
        };
        self.result(item, &key, argument).await
    }

    async fn result(&self, item: &FakeItem, key: &str, argument: Json) -> Result<Raw, CallError> {
        if let Err(mismatch) = check_arguments(item, &argument) {
            return Ok(error_result(&format!("invalid arguments for `{key}`: {mismatch}")));
        }
        let value = match &item.reply {
            FakeReply::Value(value) => value.clone(),
            FakeReply::Function(name) => self.world.exchange.call(name, argument).await.ok_or(CallError::Cancelled)?,
            FakeReply::Error(text) if item.kind == ItemKind::Tool => return Ok(error_result(text)),
            FakeReply::Error(text) => return Err(CallError::Rpc(RpcError::internal(text))),
        };
        let result = match item.kind {
            ItemKind::Tool => Ok(shaped(value, false)),
            ItemKind::Prompt => shaped_messages(value),
            ItemKind::Resource | ItemKind::ResourceTemplate => shaped_contents(value, key),
        };
        result.map(|result| raw(&result)).map_err(|message| CallError::Rpc(RpcError::internal(&message)))
    }
}

/// Checks arguments against the input schema of a tool.
fn check_arguments(item: &FakeItem, arguments: &Json) -> Result<(), String> {
    let schema = item.definition.member("inputSchema").filter(|_| item.kind == ItemKind::Tool);
    let Some(schema) = schema else { return Ok(()) };
    let schema = Schema::compile(&schema).map_err(|error| error.to_string())?;
    schema.check(arguments).map_err(|mismatch| mismatch.to_string())
}

impl Backend for FakeBackend {
    fn view(&self) -> Arc<BackendView> {
        Arc::clone(&self.view)
    }

    fn lock(&self, _: Option<&dyn Peer>) -> Option<Arc<ViewLock>> {
        self.view.lock.clone()
    }

    fn call(&self, call: BackendCall) -> BoxFuture<'_, Result<Answer, CallError>> {
        Box::pin(async move {
            tokio::select! {
                biased;
                () = call.cancel.cancelled() => Err(CallError::Cancelled),
                answer = self.handle(&call) => answer.map(|result| Answer { result }),
            }
        })
    }

    fn is_in_process(&self) -> bool {
        false
    }

    fn call_blocking(&self, call: BackendCall, runtime: &tokio::runtime::Handle) -> Result<Answer, CallError> {
        proxy_fiber::wait(self.call(call), runtime)
    }

    fn connected(&self) -> Option<&dyn ConnectedBackend> {
        None
    }

    fn local(&self) -> Option<&dyn LocalBackend> {
        None
    }

    fn per_person(&self) -> Option<&dyn PerPersonBackend> {
        None
    }
}
