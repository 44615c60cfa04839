//! Long work that a server does as a task: for callers that know nothing of tasks the proxy waits for it to end.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::input_rounds::{Asked, Rounds};
use super::server_handle::Handle;
use crate::backend::call::backend_call::{Answer, Call, CallError};
use crate::backend::call::peer::Peer;
use crate::json::{Needle, Object, Raw, RawRef, quote};
use crate::model::ItemKind;
use crate::wire::{RpcError, code, without_reserved};

/// The name of the stateless era's extension.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

const CALL: &str = "tools/call";
/// How often a task is looked at whose server does not say.
const LOOK: Duration = Duration::from_secs(1);
const SHORTEST_LOOK: Duration = Duration::from_millis(20);
const LONGEST_LOOK: Duration = Duration::from_secs(30);

/// A task that a server began in place of a result.
pub(crate) struct Task {
    id: String,
    /// Whose form it has.
    stateless: bool,
    /// When it is worth a look.
    pause: Duration,
}

/// The task that the answer to a call stands for. A session-based server begins one only where it was asked to.
pub(crate) fn begun(call: &Call, result: &RawRef) -> Option<Task> {
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
        let pause = if working { pause(&object) } else { Duration::ZERO };
        return Some(Task { id: object.string("taskId")?, stateless: true, pause });
    }
    Object::of(&call.params).ok()?.get("task")?;
    let id = Object::of(object.get("task")?).ok()?.string("taskId")?;
    Some(Task { id, stateless: false, pause: Duration::ZERO })
}

/// How long a server wants to be left alone with a task.
fn pause(task: &Object<'_>) -> Duration {
    let wanted = task.get("pollIntervalMs").and_then(|wanted| wanted.get().parse().ok());
    wanted.map_or(LOOK, Duration::from_millis).clamp(SHORTEST_LOOK, LONGEST_LOOK)
}

/// Whether a server refused a call only because it was not told that its caller knows tasks.
pub(crate) fn wants_extension(error: &RpcError) -> bool {
    error.code() == code::MISSING_CAPABILITY
        && error.data().is_some_and(|data| data["requiredCapabilities"]["extensions"].get(TASKS_EXTENSION).is_some())
}

/// Whether a request is about work that is under way. It is no work itself and waits for no turn: who waits for a task
/// must not keep others from ending it.
pub(crate) fn is_about_task(call: &Call) -> bool {
    call.method.starts_with("tasks/")
}

impl Handle {
    /// A call of a tool that can only be done as a task, by a caller that did not ask for one.
    pub(crate) fn as_task(&self, call: &Call) -> Option<Raw> {
        if call.method != CALL {
            return None;
        }
        let view = self.view.load();
        if !view.info.has_session_tasks() {
            return None;
        }
        let params = Object::of(&call.params).ok()?;
        let name = params.string("name")?;
        let tool = view.lists.of(ItemKind::Tool).iter().find(|tool| tool.key() == name)?;
        let required = tool.member("execution")?["taskSupport"] == "required";
        (required && params.get("task").is_none()).then(|| params.edit().set("task", "{}").finish_raw())
    }

    /// Waits for a task to end, answering what it asks; its result is the call's. If nobody waits any more, or nobody
    /// can answer, the task is ended too.
    pub(crate) async fn see_through(&self, call: &Call, task: Task, rounds: &mut Rounds) -> Result<Answer, CallError> {
        let mut end = EndsTask::armed(self, call, &task.id);
        let outcome = if task.stateless {
            self.watch(call, &task, rounds, &mut end).await
        } else {
            // A session-based server answers this when the task has ended, and asks meanwhile as in any call.
            let mut wait = about("tasks/result", &task.id, call);
            wait.timeout = Some(rounds.deadline.saturating_duration_since(tokio::time::Instant::now()));
            self.deliver(&wait).await
        };
        if matches!(outcome, Ok(_) | Err(CallError::Rpc(_))) {
            end.disarm();
        }
        outcome.map(|answer| Answer { result: without_reserved(&answer.result).into_owned() })
    }

    async fn watch(
        &self,
        call: &Call,
        task: &Task,
        rounds: &mut Rounds,
        end: &mut EndsTask,
    ) -> Result<Answer, CallError> {
        let protocol = |reason: String| CallError::Protocol {
            backend: Arc::clone(&self.name),
            reason: format!("a task: {reason}"),
        };
        let mut answered: Vec<String> = Vec::new();
        let mut wait = task.pause;
        loop {
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = call.cancel.cancelled() => return Err(CallError::Cancelled),
            }
            if tokio::time::Instant::now() > rounds.deadline {
                return Err(CallError::Timeout { backend: Arc::clone(&self.name), after: self.limit(call.timeout) });
            }
            let answer = self.deliver(&about("tasks/get", &task.id, call)).await?;
            let now = Object::of(&answer.result).map_err(|error| protocol(error.to_string()))?;
            let status = now.string("status").ok_or_else(|| protocol("no status".to_owned()))?;
            match status.as_str() {
                "completed" => {
                    let result = now.get("result").ok_or_else(|| protocol("completed without a result".to_owned()))?;
                    return Ok(Answer { result: result.to_owned() });
                }
                "failed" => {
                    let error = now.get("error").map(RpcError::carried);
                    return Err(CallError::Rpc(error.unwrap_or_else(|| RpcError::internal("the task failed"))));
                }
                "cancelled" => {
                    end.disarm();
                    let reason = "its task was cancelled".to_owned();
                    return Err(CallError::Lost { backend: Arc::clone(&self.name), reason });
                }
                "input_required" => {
                    let asked = now.get("inputRequests").map_or("{}", RawRef::get);
                    let asked = crate::json::valid(format!("{{\"inputRequests\":{asked}}}"))
                        .map_err(|error| protocol(error.to_string()))?;
                    let asked = Asked::of_task(&asked).map_err(protocol)?;
                    self.answer_task(call, &task.id, asked, rounds, &mut answered).await?;
                }
                _ => {}
            }
            wait = pause(&now);
        }
    }

    /// Asks the client what a task asks, each thing once.
    async fn answer_task(
        &self,
        call: &Call,
        id: &str,
        mut asked: Asked,
        rounds: &mut Rounds,
        answered: &mut Vec<String>,
    ) -> Result<(), CallError> {
        asked.questions.retain(|(key, ..)| !answered.contains(key));
        if asked.questions.is_empty() {
            return Ok(());
        }
        let answers = self.ask_all(&asked, call, rounds).await?;
        answered.extend(answers.iter().map(|(key, _)| key.clone()));
        let responses: Vec<String> = answers.iter().map(|(key, answer)| format!("{}:{answer}", quote(key))).collect();
        let mut update = about("tasks/update", id, call);
        let text = format!("{{\"taskId\":{},\"inputResponses\":{{{}}}}}", quote(id), responses.join(","));
        update.params = crate::json::valid(text)
            .map_err(|error| CallError::Protocol { backend: Arc::clone(&self.name), reason: error.to_string() })?;
        self.deliver(&update).await.map(drop)
    }
}

/// A request about a task, for the caller of the tool.
fn about(method: &'static str, id: &str, call: &Call) -> Call {
    Call {
        host: None,
        method: method.into(),
        params: crate::json::raw(&json!({ "taskId": id })),
        timeout: call.timeout,
        cancel: call.cancel.clone(),
        peer: call.peer.clone(),
        passes_questions_on: false,
        takes_tasks: true,
        declares_tasks: true,
    }
}

/// A task that nobody would ask about any more. Also when the call is simply dropped: its client closed the connection.
struct EndsTask {
    handle: Handle,
    cancel: Option<Call>,
    runtime: tokio::runtime::Handle,
}

impl EndsTask {
    fn armed(handle: &Handle, call: &Call, id: &str) -> Self {
        let mut cancel = about("tasks/cancel", id, call);
        (cancel.cancel, cancel.timeout) = (CancellationToken::new(), None);
        EndsTask { handle: handle.clone(), cancel: Some(cancel), runtime: tokio::runtime::Handle::current() }
    }

    fn disarm(&mut self) {
        self.cancel = None;
    }
}

impl Drop for EndsTask {
    fn drop(&mut self) {
        let Some(cancel) = self.cancel.take() else { return };
        let gone = cancel.peer.as_deref().and_then(Peer::gone).is_some_and(|gone| gone.is_cancelled());
        if gone && self.handle.session_scoped {
            // The connection went with its client, and the task with the connection.
            return;
        }
        let handle = self.handle.clone();
        self.runtime.spawn(async move {
            if let Err(error) = handle.deliver(&cancel).await {
                tracing::debug!(server = %handle.name, %error, "ending a task");
            }
        });
    }
}
