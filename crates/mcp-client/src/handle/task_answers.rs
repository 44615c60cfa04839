//! What a server says of tasks: that it has started one, how long it keeps it, and how it ended.

use std::time::Duration;

use crate::call::{Answer, BackendCall, CallError};
use crate::supervision::SupervisedServer;
use proxy_json::{Needle, Object, RawRef};

pub(super) const CALL: &str = "tools/call";
/// The poll interval if the server does not declare one, and the limits for declared ones.
const DEFAULT_POLL_INTERVAL: Duration = Duration::from_secs(1);
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(20);
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(30);

/// A task that a server started instead of returning a result.
pub(super) struct Task {
    pub(super) id: String,
    /// Whether it has the form of the stateless era.
    pub(super) stateless: bool,
    /// The delay before the first poll.
    pub(super) first_poll: Duration,
}

/// The task that the result of a call refers to. A session-based server starts one only on request.
pub(super) fn started(call: &BackendCall, result: &RawRef) -> Option<Task> {
    if call.method != CALL {
        return None;
    }
    static TASK_ID: Needle = Needle::new("taskId");
    if !TASK_ID.is_in(result.get()) {
        return None;
    }
    let object = Object::of(result).ok()?;
    if object.string("resultType").as_deref() == Some("task") {
        let working = object.string("status").as_deref() == Some("working");
        let first_poll = if working { poll_interval(&object) } else { Duration::ZERO };
        return Some(Task { id: object.string("taskId")?, stateless: true, first_poll });
    }
    Object::of(&call.params).ok()?.get("task")?;
    let id = Object::of(object.get("task")?).ok()?.string("taskId")?;
    Some(Task { id, stateless: false, first_poll: Duration::ZERO })
}

/// The poll interval that the server declared for a task.
pub(super) fn poll_interval(task: &Object<'_>) -> Duration {
    let declared = task.get("pollIntervalMs").and_then(|interval| interval.get().parse().ok());
    declared.map_or(DEFAULT_POLL_INTERVAL, Duration::from_millis).clamp(MIN_POLL_INTERVAL, MAX_POLL_INTERVAL)
}

/// Notes a task that a client has started and will ask for, and the end of one: a server is not stopped while it has some.
pub(super) fn note(server: &SupervisedServer, call: &BackendCall, outcome: &Result<Answer, CallError>) {
    if let (true, Ok(answer)) = (call.accepts_tasks, outcome)
        && let Some(task) = started(call, &answer.result)
    {
        server.holds.tasks.started(task.id, kept(&answer.result));
    }
    if !call.method.starts_with("tasks/") {
        return;
    }
    let Some(id) = Object::of(&call.params).ok().and_then(|params| params.string("taskId")) else { return };
    match outcome {
        _ if is_over(&call.method, outcome) => server.holds.tasks.ended(&id),
        Ok(answer) if call.method == "tasks/get" => server.holds.tasks.started(id, kept(&answer.result)),
        _ => {}
    }
}

/// How long the server keeps a task that it has just started.
fn kept(result: &RawRef) -> Option<Duration> {
    let result = Object::of(result).ok()?;
    let task = result.get("task").and_then(|task| Object::of(task).ok());
    let ttl = task.as_ref().unwrap_or(&result);
    let milliseconds = ttl.get("ttlMs").or_else(|| ttl.get("ttl"))?.get().parse::<f64>().ok()?;
    Duration::try_from_secs_f64(milliseconds / 1000.0).ok()
}

/// Whether the server need not keep a task after this answer about it. A session-based server keeps the result of a completed
/// task until `tasks/result`.
fn is_over(method: &str, outcome: &Result<Answer, CallError>) -> bool {
    let answer = match outcome {
        Ok(answer) => answer,
        Err(error) => return matches!(error, CallError::Rpc(_)),
    };
    let task = Object::of(&answer.result).ok();
    let status = task.as_ref().and_then(|task| task.string("status"));
    match status.as_deref() {
        Some("failed" | "cancelled") => true,
        Some("completed") => task.is_some_and(|task| task.get("result").is_some()),
        _ => matches!(method, "tasks/result" | "tasks/cancel"),
    }
}
