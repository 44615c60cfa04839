//! Long work done as tasks, for clients that know them. The id of a task is sealed, so that it finds its server again and
//! is of no use to anybody else.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::methods::{Asked, Client, Outcome};
use super::peer::{ClientPeer, Way};
use super::task_names::{TaskNames, with_related};
use super::{Server, encode_for};
use crate::backend::{CallError, TASKS_EXTENSION};
use crate::builtins::Handler;
use crate::calls::CallFault;
use crate::json::{Needle, Object, Raw, raw};
use crate::model::ItemKind;
use crate::seal::Purpose;
use crate::surface::Surface;
use crate::wire::{Revision, RpcError, code, without_reserved};

#[derive(Serialize, Deserialize)]
struct Sealed {
    backend: String,
    id: String,
    /// Whose form it has: a task is followed in the era it was begun in.
    stateless: bool,
}

/// The methods of either era.
pub(super) fn is_task_method(method: &str, revision: Revision) -> bool {
    match method {
        "tasks/get" | "tasks/cancel" => revision.is_stateless() || revision == Revision::V2025_11_25,
        "tasks/update" => revision.is_stateless(),
        "tasks/result" => revision == Revision::V2025_11_25,
        _ => false,
    }
}

/// Whether a client said with this request that it knows tasks.
fn declares_tasks(client: &Client) -> bool {
    client.declared().is_some_and(|declared| {
        declared.get().contains(TASKS_EXTENSION)
            && serde_json::from_str::<Value>(declared.get())
                .is_ok_and(|declared| declared["extensions"].get(TASKS_EXTENSION).is_some())
    })
}

fn needs_declaration() -> RpcError {
    let data = json!({"requiredCapabilities": {"extensions": {TASKS_EXTENSION: {}}}});
    RpcError::with_data(code::MISSING_CAPABILITY, "declare the tasks extension with this request", &data)
}

/// Why a subscription is refused: it names tasks and does not say that tasks are known.
pub(super) fn undeclared(asked: &Asked<'_>) -> Option<RpcError> {
    let params = Object::of(asked.request.params.as_deref()?).ok()?;
    let wanted = Object::of(params.get("notifications")?).ok()?;
    (wanted.get("taskIds").is_some() && !declares_tasks(asked.client)).then(needs_declaration)
}

/// Whether a task is an answer to this call. One that must not be asked for is refused.
pub(super) fn taken(surface: &Surface, tool: &str, asked_for: bool, client: &Client) -> Result<bool, RpcError> {
    if client.revision.is_stateless() {
        return Ok(declares_tasks(client));
    }
    if client.revision != Revision::V2025_11_25 || !asked_for {
        return Ok(false);
    }
    let entry = surface.find(ItemKind::Tool, tool);
    let supported = entry.is_none_or(|entry| {
        let execution = entry.definition.member("execution").unwrap_or_default();
        matches!(entry.handler, Handler::Backend(_))
            && matches!(execution["taskSupport"].as_str(), Some("optional" | "required"))
    });
    if supported {
        Ok(true)
    } else {
        Err(RpcError::new(code::METHOD_NOT_FOUND, "this tool cannot be called as a task"))
    }
}

/// The params of a call without the wish for a task, which other revisions do not have.
pub(super) fn without(params: Raw) -> Raw {
    Object::of(&params).map(|object| object.edit().remove("task").finish_raw()).unwrap_or(params)
}

impl Server {
    /// A result that stands for a task, with the id the client is to use.
    pub(super) fn with_sealed_task(
        &self,
        surface: &Surface,
        tool: &str,
        client: &Client,
        result: Raw,
    ) -> Result<Raw, RpcError> {
        static TASK_ID: Needle = Needle::new("taskId");
        if !TASK_ID.is_in(result.get()) {
            return Ok(result);
        }
        let Some(Handler::Backend(target)) = surface.find(ItemKind::Tool, tool).map(|entry| &entry.handler) else {
            return Ok(result);
        };
        let Ok(object) = Object::of(&result) else { return Ok(result) };
        let sealed = |id: String| {
            let stateless = client.revision.is_stateless();
            let content = Sealed { backend: target.backend.to_string(), id, stateless };
            let content = serde_json::to_vec(&content).unwrap_or_default();
            self.sealer
                .seal(Purpose::Task, &client.principal.holder(), &content)
                .map(|id| raw(&id))
                .map_err(|_| RpcError::internal("no id can be made for the task"))
        };
        if client.revision.is_stateless() {
            let is_task = object.string("resultType").as_deref() == Some("task");
            let Some(id) = object.string("taskId").filter(|_| is_task) else { return Ok(result) };
            return Ok(object.edit().set("taskId", &sealed(id)?).finish_raw());
        }
        let Some(task) = object.get("task").and_then(|task| Object::of(task).ok()) else { return Ok(result) };
        let Some(id) = task.string("taskId") else { return Ok(result) };
        let task = task.edit().set("taskId", &sealed(id)?).finish_raw();
        Ok(object.edit().set("task", &task).finish_raw())
    }

    /// Looks at, answers, awaits or ends a task.
    pub(super) async fn about_task(&self, asked: Asked<'_>) -> Outcome {
        let client = asked.client;
        if !self.carries_tasks(client.revision) {
            return Some(Err(RpcError::method_not_found(&asked.request.method)));
        }
        if client.revision.is_stateless() && !declares_tasks(client) {
            return Some(Err(needs_declaration()));
        }
        let (id, task, params) = match self.opened(&asked) {
            Ok(opened) => opened,
            Err(error) => return Some(Err(error)),
        };
        let way = if client.revision.is_stateless() { Way::None } else { Way::Request };
        let names = TaskNames { theirs: task.id, ours: id.clone() };
        let peer = ClientPeer::of_task(client, asked.sink, way, names);
        let mut caller = client.caller(asked.cancel, Some(peer));
        caller.takes_tasks = true;
        // It is answered when the task has ended, however long that takes.
        caller.patient = asked.request.method == "tasks/result";
        let backend = task.backend.as_str().into();
        let outcome = self.gateway.calls().forward(&backend, asked.request.method.clone(), params, caller).await;
        Some(match outcome {
            Ok(result) => told(client.revision, &asked.request.method, result, &id),
            Err(CallFault::Cancelled) => return None,
            Err(CallFault::Backend(CallError::Rpc(error))) => {
                Err(encode_for::error(client.revision, ItemKind::Tool, &id, error))
            }
            Err(CallFault::Backend(error)) => Err(RpcError::internal(&error.to_string())),
            Err(CallFault::Unknown | CallFault::Failed { .. } | CallFault::Asks(_)) => Err(unknown_task()),
        })
    }

    /// The id as the client has it, what it stands for, and the request as the server knows it.
    fn opened(&self, asked: &Asked<'_>) -> Result<(String, Sealed, Raw), RpcError> {
        let missing = || RpcError::invalid_params("`taskId` is missing or not a string");
        let params = without_reserved(asked.request.params.as_deref().ok_or_else(missing)?);
        let object = Object::of(&params).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
        let id = object.string("taskId").ok_or_else(missing)?;
        let content = self.sealer.open(Purpose::Task, &asked.client.principal.holder(), &id);
        let task: Sealed =
            content.and_then(|content| serde_json::from_slice(&content).ok()).ok_or_else(unknown_task)?;
        if task.stateless != asked.client.revision.is_stateless() {
            return Err(unknown_task());
        }
        let params = object.edit().set("taskId", &raw(&task.id)).finish_raw();
        Ok((id, task, params))
    }
}

fn unknown_task() -> RpcError {
    RpcError::invalid_params("there is no such task")
}

/// What a server said about a task, under the id the client knows it by.
fn told(revision: Revision, method: &str, result: Raw, id: &str) -> Result<Raw, RpcError> {
    let result = match Object::of(&result) {
        Ok(object) if method != "tasks/result" => {
            let mut edit = object.edit();
            if object.get("taskId").is_some() {
                edit.set("taskId", &raw(id));
            }
            // Only what begins a task has that type, though servers are known to repeat it.
            if object.string("resultType").as_deref() == Some("task") {
                edit.set("resultType", encode_for::COMPLETE);
            }
            if edit.is_empty() { result.clone() } else { edit.finish_raw() }
        }
        _ => result,
    };
    let result = encode_for::result(revision, result)?;
    // A result that comes by this way says which task it is of.
    Ok(if method == "tasks/result" { with_related(&result, id) } else { result })
}
