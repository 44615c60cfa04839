//! `tasks/*`: calls that continue in the background. The id of a task is sealed: it contains the server and the
//! server's own id, and no other principal can use it.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{MethodOutcome, capabilities};
use crate::Server;
use crate::client::peer::ClientPeer;
use crate::client::state::Client;
use crate::client::task_ids::{TaskIds, with_related};
use crate::era::encode_for;
use proxy_base::seal::Purpose;
use proxy_builtins::Handler;
use proxy_engine::calls::{FlowItem, OtherRequest, RequestContext};
use proxy_engine::surface::Surface;
use proxy_json::{Needle, Object, Raw, raw};
use proxy_mcp_client::{CallError, TASKS_EXTENSION};
use proxy_model::flow::Labels;
use proxy_model::{BackendKind, Era, Home, ItemKind, ItemRef, Owner};
use proxy_wire::{Method, Request, Revision, RpcError, code, without_reserved};

/// The encrypted content of a task id.
#[derive(Serialize, Deserialize)]
struct SealedTask {
    backend: String,
    id: String,
    /// Whether a stateless client created the task. The task can only be used in the same era.
    stateless: bool,
    /// The published tool that created the task.
    #[serde(default)]
    tool: String,
    /// The process whose connection the server knows the task by; none if every process can ask for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    home: Option<String>,
    /// The labels of what the call had told when it became a task.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    told: Labels,
}

/// Whether a stateless client declared the tasks extension with this request.
fn declares_tasks(client: &Client) -> bool {
    client.declared().is_some_and(|declared| {
        declared.get().contains(TASKS_EXTENSION)
            && serde_json::from_str::<Value>(declared.get())
                .is_ok_and(|declared| declared["extensions"].get(TASKS_EXTENSION).is_some())
    })
}

fn needs_declaration() -> RpcError {
    let data = json!({"requiredCapabilities": {"extensions": {TASKS_EXTENSION: {}}}});
    RpcError::with_data(
        code::MISSING_CAPABILITY,
        "this request requires the tasks extension: declare it in the client capabilities",
        &data,
    )
}

/// The error for `subscriptions/listen` that names tasks without declaring the tasks extension.
pub(super) fn undeclared(client: &Client, message: &Request) -> Option<RpcError> {
    let params = Object::of(message.params.as_deref()?).ok()?;
    let requested = Object::of(params.get("notifications")?).ok()?;
    (requested.get("taskIds").is_some() && !declares_tasks(client)).then(needs_declaration)
}

/// Whether the client accepts a task in place of the result. Requesting a task from a tool that does not support tasks
/// is an error.
pub(super) fn accepted(surface: &Surface, tool: &str, requested: bool, client: &Client) -> Result<bool, RpcError> {
    if client.revision.is_stateless() {
        return Ok(declares_tasks(client));
    }
    if client.revision != Revision::V2025_11_25 || !requested {
        return Ok(false);
    }
    let entry = surface.find(ItemKind::Tool, tool);
    let supported = entry.is_none_or(|entry| {
        let execution = entry.definition.member("execution").unwrap_or_default();
        matches!(entry.handler, Handler::Backend(_))
            && matches!(execution["taskSupport"].as_str(), Some("optional" | "required"))
    });
    if supported { Ok(true) } else { Err(RpcError::new(code::METHOD_NOT_FOUND, "this tool does not support tasks")) }
}

/// Removes `task` from the params of a call.
pub(super) fn without_task(params: Raw) -> Raw {
    Object::of(&params).map(|object| object.edit().remove("task").finish_raw()).unwrap_or(params)
}

/// Removes `task` from the params of an item that has no tasks, if the member is present.
pub(super) fn without_task_if(present: Option<bool>, params: Raw) -> Raw {
    if present.is_some() { without_task(params) } else { params }
}

/// Replaces the task id in the result of a call by a sealed id that only this principal can use.
pub(super) fn with_sealed_id(
    server: &Server,
    request: &RequestContext,
    tool: &str,
    result: Raw,
) -> Result<Raw, RpcError> {
    let stateless = request.retries_with_input;
    static TASK_ID: Needle = Needle::new("taskId");
    if !TASK_ID.is_in(result.get()) {
        return Ok(result);
    }
    let Some(Handler::Backend(target)) = request.surface.find(ItemKind::Tool, tool).map(|entry| &entry.handler) else {
        return Ok(result);
    };
    let Ok(object) = Object::of(&result) else { return Ok(result) };
    let home = belongs_to_process(server, &target.backend).then(|| Home::of_this_process().to_string());
    let sealed = |id: String| {
        let content = SealedTask {
            backend: target.backend.to_string(),
            id,
            stateless,
            tool: tool.to_owned(),
            home: home.clone(),
            told: request.told.get(),
        };
        let content = serde_json::to_vec(&content).unwrap_or_default();
        server
            .sealer
            .seal(Purpose::Task, &Owner::handle_text(&request.principal), &content)
            .map(|id| raw(&id))
            .map_err(|_| RpcError::internal("cannot seal the task id: the random number generator failed"))
    };
    if stateless {
        let is_task = object.string("resultType").as_deref() == Some("task");
        let Some(id) = object.string("taskId").filter(|_| is_task) else { return Ok(result) };
        return Ok(object.edit().set("taskId", &sealed(id)?).finish_raw());
    }
    let Some(task) = object.get("task").and_then(|task| Object::of(task).ok()) else { return Ok(result) };
    let Some(id) = task.string("taskId") else { return Ok(result) };
    let task = task.edit().set("taskId", &sealed(id)?).finish_raw();
    Ok(object.edit().set("task", &task).finish_raw())
}

/// Whether other processes cannot ask this server for its tasks: it is a child of this process, or knows its sessions only.
fn belongs_to_process(server: &Server, backend: &str) -> bool {
    if server.replicas.store().is_none() {
        return false;
    }
    let snapshot = server.gateway.snapshot();
    snapshot.backend(backend).is_none_or(|view| view.kind != BackendKind::Http || view.info.era() == Era::Session)
}

/// The process that has to answer a request about a task, if only one can.
pub(super) fn home_of(server: &Server, client: &Client, message: &Request) -> Option<Home> {
    let (_, task, _) = opened(server, client, message).ok()?;
    Home::parse(&task.home?)
}

/// `tasks/get`, `tasks/update`, `tasks/result` and `tasks/cancel`, forwarded to the server that has the task.
pub(super) async fn task(
    server: &Server,
    peer: &Arc<ClientPeer>,
    request: &RequestContext,
    message: &Request,
) -> MethodOutcome {
    let client = peer.client();
    if !capabilities::supports_tasks(server, client) {
        return Some(Err(RpcError::method_not_found(&message.method)));
    }
    if client.revision.is_stateless() && !declares_tasks(client) {
        return Some(Err(needs_declaration()));
    }
    let (id, task, params) = match opened(server, client, message) {
        Ok(opened) => opened,
        Err(error) => return Some(Err(error)),
    };
    let calls = server.gateway.calls();
    if let Err(reason) = calls.audit_gate(request) {
        return Some(Err(RpcError::internal(&reason)));
    }
    // The task of a tool that is no longer published can be used without policies only.
    let permit = match request.surface.find(ItemKind::Tool, &task.tool) {
        Some(entry) => calls.listed_permit(request, entry),
        None => calls.orphan_permit(),
    };
    let Ok(permit) = permit else { return Some(Err(unknown_task())) };
    let admitted = calls.admit_other(request, || {
        let arguments = raw(&json!({ "task_id": id }));
        OtherRequest { method: &message.method, name: &task.tool, arguments, forwarded: None }
    });
    match admitted.await {
        Ok(()) => {}
        Err(CallError::Rejected(error)) => return Some(Err(error)),
        Err(_) => return None,
    }
    peer.set_task(TaskIds { server: task.id, client: id.clone() });
    let backend: Arc<str> = task.backend.as_str().into();
    let mut call = request.backend_call(message.method.clone(), params);
    call.accepts_tasks = true;
    // `tasks/result` waits until the task has ended, so it has no timeout.
    call.timeout = (message.kind == Method::TasksResult).then_some(Duration::MAX);
    let flow = calls.passage(request, &message.method, task.told.clone(), || {
        let published = request.surface.find(ItemKind::Tool, &task.tool).and_then(|entry| entry.source().cloned());
        let unpublished =
            || ItemRef { backend: Arc::clone(&backend), kind: ItemKind::Tool, name: task.tool.as_str().into() };
        let target = published.unwrap_or_else(unpublished);
        Some(FlowItem::Item { target, uri: None })
    });
    Some(match calls.forward(request, &backend, call, permit, flow).await {
        Ok(result) => {
            let result = server.gateway.attribution().result(&backend, result);
            encode(client.revision, &message.method, result, &id)
        }
        Err(CallError::Cancelled) => return None,
        Err(CallError::Rejected(error)) => Err(error),
        Err(CallError::Rpc(error)) => Err(encode_for::error(client.revision, ItemKind::Tool, &id, error)),
        Err(CallError::Unknown | CallError::Failed { .. } | CallError::Asks(_)) => Err(unknown_task()),
        Err(error) => Err(RpcError::internal(&error.to_string())),
    })
}

/// Opens the task id in a request: the client's id, the task, and the params with the server's id.
fn opened(server: &Server, client: &Client, message: &Request) -> Result<(String, SealedTask, Raw), RpcError> {
    let missing = || RpcError::invalid_params("`taskId` is missing or not a string");
    let params = without_reserved(message.params.as_deref().ok_or_else(missing)?);
    let object = Object::of(&params).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
    let id = object.string("taskId").ok_or_else(missing)?;
    let content = server.sealer.open(Purpose::Task, &Owner::handle_text(&client.principal), &id);
    let task: SealedTask =
        content.and_then(|content| serde_json::from_slice(&content).ok()).ok_or_else(unknown_task)?;
    if task.stateless != client.revision.is_stateless() {
        return Err(unknown_task());
    }
    let params = object.edit().set("taskId", &raw(&task.id)).finish_raw();
    Ok((id, task, params))
}

pub(super) fn unknown_task() -> RpcError {
    RpcError::invalid_params("unknown task")
}

/// Encodes the result of a task method, with the client's task id.
fn encode(revision: Revision, method: &str, result: Raw, id: &str) -> Result<Raw, RpcError> {
    let result = match Object::of(&result) {
        Ok(object) if method != "tasks/result" => {
            let mut edit = object.edit();
            if object.get("taskId").is_some() {
                edit.set("taskId", &raw(id));
            }
            // Only the result that creates a task has the type `task`, but some servers repeat it in later results.
            if object.string("resultType").as_deref() == Some("task") {
                edit.set("resultType", encode_for::COMPLETE);
            }
            if edit.is_empty() { result.clone() } else { edit.finish_raw() }
        }
        _ => result,
    };
    let result = encode_for::result(revision, result)?;
    // MCP requires the related task in the result of `tasks/result`.
    Ok(if method == "tasks/result" { with_related(&result, id) } else { result })
}
