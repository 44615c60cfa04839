//! A server that exists only in a test, as a backend: called like any other, it writes down what reaches it.

use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use serde_json::{Map, Value as Json, json};

use super::world::TestWorld;
use crate::backend::{Answer, Backend, Call, CallError};
use crate::json::{Object, Raw, Schema, raw};
use crate::model::{
    BackendKind, BackendView, Definition, ItemKind, Lists, ServerInfo, Status, UriTemplate, error_result, shaped,
    shaped_contents, shaped_messages,
};
use crate::wire::{RpcError, code};

/// What an item answers.
#[derive(Clone, Debug)]
pub(super) enum Returns {
    Value(Json),
    /// A function of the test, by its name in the exchange.
    Function(String),
    Fails(String),
}

#[derive(Debug)]
pub(super) struct FakeItem {
    pub kind: ItemKind,
    pub definition: Arc<Definition>,
    pub returns: Returns,
}

pub(super) struct FakeBackend {
    view: Arc<BackendView>,
    items: Vec<FakeItem>,
    world: Arc<TestWorld>,
    calls: Arc<Mutex<Vec<Json>>>,
}

/// What is known of a fake server beside its items.
pub(super) struct Described {
    pub name: String,
    pub status: Status,
    pub error: String,
    pub instructions: String,
}

impl FakeBackend {
    pub(super) fn new(described: Described, items: Vec<FakeItem>, world: &Arc<TestWorld>) -> Self {
        let mut lists = Lists::default();
        for item in &items {
            lists.of_mut(item.kind).push(Arc::clone(&item.definition));
        }
        let offered = ItemKind::ALL.into_iter().filter(|kind| !lists.of(*kind).is_empty());
        let capabilities: Map<String, Json> = offered.map(|kind| (kind.capability().to_owned(), json!({}))).collect();
        let view = BackendView {
            name: described.name.as_str().into(),
            kind: BackendKind::Stdio,
            status: described.status,
            error: described.error,
            info: Arc::new(ServerInfo {
                name: described.name,
                version: "1.0.0".to_owned(),
                instructions: described.instructions,
                protocol_version: "2025-11-25".to_owned(),
                capabilities: capabilities.into(),
                ..ServerInfo::default()
            }),
            lists: Arc::new(lists),
            start_time: None,
            reports: Arc::default(),
        };
        FakeBackend { view: Arc::new(view), items, world: Arc::clone(world), calls: Arc::default() }
    }

    /// What has reached it so far.
    pub(super) fn calls(&self) -> Arc<Mutex<Vec<Json>>> {
        Arc::clone(&self.calls)
    }

    fn find(&self, kind: ItemKind, key: &str) -> Option<&FakeItem> {
        let fits = |item: &&FakeItem| {
            item.kind == ItemKind::ResourceTemplate
                && UriTemplate::parse(item.definition.key()).is_some_and(|template| template.variables(key).is_some())
        };
        let exact = self.items.iter().find(|item| item.kind == kind && item.definition.key() == key);
        exact.or_else(|| self.items.iter().find(fits).filter(|_| kind == ItemKind::Resource))
    }

    async fn answer(&self, call: &Call) -> Result<Raw, CallError> {
        if self.view.status == Status::Failed {
            return Err(CallError::Down { backend: Arc::clone(&self.view.name), reason: self.view.error.clone() });
        }
        let refused = |error| CallError::Rpc(error);
        let Some(kind) = ItemKind::ALL.into_iter().find(|kind| kind.use_method() == call.method) else {
            return Err(refused(RpcError::method_not_found(&call.method)));
        };
        let params = Object::of(&call.params).map_err(|error| refused(RpcError::invalid_params(&error.to_string())))?;
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
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(record);
        let Some(item) = self.find(kind, &key) else {
            let code = if kind == ItemKind::Resource { code::RESOURCE_NOT_FOUND } else { code::INVALID_PARAMS };
            return Err(refused(RpcError::new(code, &format!("unknown {}: {key}", kind.noun()))));
        };
        self.result(item, &key, argument).await
    }

    async fn result(&self, item: &FakeItem, key: &str, argument: Json) -> Result<Raw, CallError> {
        if let Err(mismatch) = fitting(item, &argument) {
            return Ok(error_result(&format!("invalid arguments for `{key}`: {mismatch}")));
        }
        let returned = match &item.returns {
            Returns::Value(value) => value.clone(),
            Returns::Function(name) => self.world.exchange.call(name, argument).await.ok_or(CallError::Cancelled)?,
            Returns::Fails(text) if item.kind == ItemKind::Tool => return Ok(error_result(text)),
            Returns::Fails(text) => return Err(CallError::Rpc(RpcError::internal(text))),
        };
        let result = match item.kind {
            ItemKind::Tool => Ok(shaped(returned, false)),
            ItemKind::Prompt => shaped_messages(returned),
            ItemKind::Resource | ItemKind::ResourceTemplate => shaped_contents(returned, key),
        };
        result.map(|result| raw(&result)).map_err(|message| CallError::Rpc(RpcError::internal(&message)))
    }
}

/// Whether a tool takes these arguments.
fn fitting(item: &FakeItem, arguments: &Json) -> Result<(), String> {
    let schema = item.definition.member("inputSchema").filter(|_| item.kind == ItemKind::Tool);
    let Some(schema) = schema else { return Ok(()) };
    let schema = Schema::compile(&schema).map_err(|error| error.to_string())?;
    schema.check(arguments).map_err(|mismatch| mismatch.to_string())
}

impl Backend for FakeBackend {
    fn view(&self) -> Arc<BackendView> {
        Arc::clone(&self.view)
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Result<Answer, CallError>> {
        Box::pin(async move {
            tokio::select! {
                biased;
                () = call.cancel.cancelled() => Err(CallError::Cancelled),
                answer = self.answer(&call) => answer.map(|result| Answer { result }),
            }
        })
    }
}
