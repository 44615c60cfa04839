//! Waits for work that a server runs as a task, on behalf of callers that do not know tasks.

use std::sync::Arc;

use serde_json::json;
use tokio::time::Instant;

use super::dispatch::dispatch;
use super::input_rounds::{InputRounds, timeout_error};
use super::questions::{InputRequired, encode_responses};
use super::task_answers::{CALL, Task, poll_interval};
use crate::call::{Answer, BackendCall, CallError, Cancellation, Peer, TASKS_EXTENSION};
use crate::supervision::{Hold, SupervisedServer};
use proxy_json::{Object, Raw, RawRef, object, raw};
use proxy_model::{Era, ItemKind, ViewVariant};
use proxy_wire::{RpcError, code, without_reserved};

/// Whether a server refused a call because the tasks extension was not declared.
pub(super) fn requires_extension(error: &RpcError) -> bool {
    error.code() == code::MISSING_CAPABILITY
        && error.data().is_some_and(|data| data["requiredCapabilities"]["extensions"].get(TASKS_EXTENSION).is_some())
}

/// The params that request a task, if the tool can only run as one and the caller did not request it.
pub(super) fn as_task(server: &SupervisedServer, call: &BackendCall) -> Option<Raw> {
    if call.method != CALL {
        return None;
    }
    let view = server.view.load();
    let is_stateless = call.peer.as_deref().is_some_and(|peer| view.variant(peer.profile()).is_some_and(is_stateless));
    if is_stateless || !view.info.has_session_tasks() {
        return None;
    }
    let params = Object::of(&call.params).ok()?;
    let name = params.string("name")?;
    let tool = view.lists.of(ItemKind::Tool).iter().find(|tool| tool.key() == name)?;
    let required = tool.member("execution")?["taskSupport"] == "required";
    (required && params.get("task").is_none()).then(|| params.edit().set("task", RawRef::EMPTY_OBJECT).finish_raw())
}

fn is_stateless(variant: &ViewVariant) -> bool {
    variant.profile.era == Era::Stateless
}

/// Waits for the result of a task and answers its input requests. The task is cancelled if the caller stops waiting or if
/// an input request cannot be answered.
pub(super) async fn wait_for_result(
    server: &Arc<SupervisedServer>,
    call: &BackendCall,
    task: Task,
    rounds: &mut InputRounds,
) -> Result<Answer, CallError> {
    let mut guard = CancelTaskOnDrop::new(server, call, &task.id);
    let outcome = if task.stateless {
        poll(server, call, &task, rounds, &mut guard).await
    } else {
        // A session-based server responds when the task has ended, and sends its questions as in any other call.
        let mut wait = task_request("tasks/result", &task.id, call);
        wait.timeout = Some(rounds.deadline.saturating_duration_since(Instant::now()));
        dispatch(server, &wait).await
    };
    if matches!(outcome, Ok(_) | Err(CallError::Rpc(_))) {
        guard.disarm();
    }
    outcome.map(|answer| Answer { result: without_reserved(&answer.result).into_owned() })
}

async fn poll(
    server: &SupervisedServer,
    call: &BackendCall,
    task: &Task,
    rounds: &mut InputRounds,
    guard: &mut CancelTaskOnDrop,
) -> Result<Answer, CallError> {
    let invalid = |reason: String| CallError::Protocol {
        backend: Arc::clone(&server.name),
        reason: format!("`tasks/get`: {reason}"),
    };
    let mut answered: Vec<String> = Vec::new();
    let mut delay = task.first_poll;
    loop {
        tokio::select! {
            () = tokio::time::sleep(delay) => {}
            () = call.cancel.cancelled() => return Err(CallError::Cancelled),
        }
        if Instant::now() > rounds.deadline {
            return Err(timeout_error(server, call));
        }
        let answer = dispatch(server, &task_request("tasks/get", &task.id, call)).await?;
        let state = Object::of(&answer.result).map_err(|error| invalid(error.to_string()))?;
        let status = state.string("status").ok_or_else(|| invalid("no `status`".to_owned()))?;
        match status.as_str() {
            "completed" => {
                let result = state.get("result").ok_or_else(|| invalid("completed without a `result`".to_owned()))?;
                return Ok(Answer { result: result.to_owned() });
            }
            "failed" => {
                let error = state.get("error").map(RpcError::carried);
                return Err(CallError::Rpc(error.unwrap_or_else(|| RpcError::internal("the task failed"))));
            }
            "cancelled" => {
                guard.disarm();
                let reason = "its task was cancelled".to_owned();
                return Err(CallError::Lost { backend: Arc::clone(&server.name), reason });
            }
            "input_required" => {
                let requests = state.get("inputRequests").unwrap_or(RawRef::EMPTY_OBJECT);
                let requests = object([("inputRequests", requests)]);
                let required = InputRequired::parse_task(&requests).map_err(invalid)?;
                answer_task(server, call, &task.id, required, rounds, &mut answered).await?;
            }
            _ => {}
        }
        delay = poll_interval(&state);
    }
}

/// Asks the client what a task requests. Requests with the keys in `answered` are skipped.
async fn answer_task(
    server: &SupervisedServer,
    call: &BackendCall,
    id: &str,
    mut required: InputRequired,
    rounds: &mut InputRounds,
    answered: &mut Vec<String>,
) -> Result<(), CallError> {
    required.requests.retain(|request| !answered.contains(&request.key));
    if required.requests.is_empty() {
        return Ok(());
    }
    let responses = rounds.ask_all(server, &required, call).await?;
    answered.extend(responses.iter().map(|(key, _)| key.clone()));
    let mut update = task_request("tasks/update", id, call);
    update.params = object([("taskId", raw(id)), ("inputResponses", encode_responses(&responses))]);
    dispatch(server, &update).await.map(drop)
}

/// A request about a task, on behalf of the caller of the tool.
fn task_request(method: &'static str, id: &str, call: &BackendCall) -> BackendCall {
    BackendCall {
        timeout: call.timeout,
        cancel: call.cancel.clone(),
        peer: call.peer.clone(),
        accepts_tasks: true,
        declares_tasks: true,
        ..BackendCall::new(method, proxy_json::raw(&json!({ "taskId": id })))
    }
}

/// Cancels a task whose result is no longer needed, also when the call is dropped because its client disconnected.
struct CancelTaskOnDrop {
    /// Kept until the server knows.
    hold: Option<Hold>,
    server: Arc<SupervisedServer>,
    request: Option<BackendCall>,
    runtime: tokio::runtime::Handle,
}

impl CancelTaskOnDrop {
    fn new(server: &Arc<SupervisedServer>, call: &BackendCall, id: &str) -> Self {
        let mut request = task_request("tasks/cancel", id, call);
        (request.cancel, request.timeout) = (Cancellation::default(), None);
        let (server, runtime) = (Arc::clone(server), tokio::runtime::Handle::current());
        CancelTaskOnDrop { hold: Some(server.holds.hold()), server, request: Some(request), runtime }
    }

    fn disarm(&mut self) {
        self.request = None;
    }
}

impl Drop for CancelTaskOnDrop {
    fn drop(&mut self) {
        let Some(request) = self.request.take() else { return };
        let gone = request.peer.as_deref().and_then(Peer::gone).is_some_and(|gone| gone.is_over());
        if gone && self.server.session_scoped {
            // The connection was closed with its client's session, and the task with the connection.
            return;
        }
        let server = Arc::clone(&self.server);
        let hold = self.hold.take();
        self.runtime.spawn(async move {
            let _hold = hold;
            if let Err(error) = dispatch(&server, &request).await {
                tracing::debug!(server = %server.name, %error, "cannot cancel a task");
            }
        });
    }
}
