//! Long work that a server does as a task: for callers that know nothing of tasks the proxy waits for it to end.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::call::{Answer, Call, CallError};
use super::handle::Handle;
use super::rounds::{Asked, Rounds};
use crate::json::{Object, Raw, RawRef};
use crate::model::ItemKind;
use crate::wire::{RpcError, code};

/// The name of the stateless era's extension.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

const CALL: &str = "tools/call";
/// How often a task is looked at whose server does not say.
const LOOK: Duration = Duration::from_secs(1);
const SHORTEST_LOOK: Duration = Duration::from_millis(20);
const LONGEST_LOOK: Duration = Duration::from_secs(30);

/// The task a result stands for.
pub(super) fn of_result(result: &RawRef) -> Option<Value> {
    memchr::memmem::find(result.get().as_bytes(), b"taskId")?;
    let value: Value = serde_json::from_str(result.get()).ok()?;
    let task = if value["resultType"] == "task" { &value } else { value.get("task")? };
    task["taskId"].is_string().then(|| task.clone())
}

/// Whether a server refused a call only because it was not told that its caller knows tasks.
pub(super) fn wants_extension(error: &RpcError) -> bool {
    error.code() == code::MISSING_CAPABILITY
        && error.data().is_some_and(|data| data["requiredCapabilities"]["extensions"].get(TASKS_EXTENSION).is_some())
}

impl Handle {
    /// A call of a tool that can only be done as a task, by a caller that did not ask for one.
    pub(super) fn as_task(&self, call: &Call) -> Option<Raw> {
        if call.method != CALL || call.takes_tasks {
            return None;
        }
        let view = self.view.load();
        view.info.capabilities.get("tasks")?;
        let params = Object::parse(call.params.get()).ok()?;
        let name = params.string("name")?;
        let tool = view.lists.of(ItemKind::Tool).iter().find(|tool| tool.key() == name)?;
        let required = tool.member("execution")?["taskSupport"] == "required";
        (required && params.get("task").is_none()).then(|| params.edit().set("task", "{}").finish_raw())
    }

    /// Waits for a task to end, answering what it asks; its result is the call's.
    pub(super) async fn see_through(
        &self,
        call: &Call,
        task: &Value,
        rounds: &mut Rounds,
    ) -> Result<Answer, CallError> {
        let id = task["taskId"].as_str().unwrap_or_default();
        let outcome = if task.get("resultType").is_some() {
            self.watch(call, task, id, rounds).await
        } else {
            // A session-based server answers this when the task has ended, and asks meanwhile as in any call.
            let mut wait = about("tasks/result", id, call);
            wait.timeout = call.timeout.or(Some(Duration::MAX));
            self.deliver(&wait).await
        };
        if matches!(outcome, Err(CallError::Cancelled | CallError::Timeout { .. })) {
            let mut cancel = about("tasks/cancel", id, call);
            (cancel.cancel, cancel.party) = (tokio_util::sync::CancellationToken::new(), None);
            let handle = self.clone();
            tokio::spawn(async move { handle.deliver(&cancel).await });
        }
        outcome
    }

    async fn watch(&self, call: &Call, task: &Value, id: &str, rounds: &mut Rounds) -> Result<Answer, CallError> {
        let mut task = task.clone();
        let mut answered: Vec<String> = Vec::new();
        loop {
            match task["status"].as_str().unwrap_or_default() {
                "completed" => return Ok(Answer { result: crate::json::raw(&task["result"]) }),
                "failed" => return Err(CallError::Rpc(RpcError::carried(&crate::json::raw(&task["error"])))),
                "cancelled" => {
                    return Err(CallError::Lost {
                        backend: Arc::clone(&self.name),
                        reason: "its task was cancelled".to_owned(),
                    });
                }
                "input_required" => self.answer_task(call, &task, id, rounds, &mut answered).await?,
                _ => {}
            }
            let asked_for = task["pollIntervalMs"].as_u64().map_or(LOOK, Duration::from_millis);
            tokio::select! {
                () = tokio::time::sleep(asked_for.clamp(SHORTEST_LOOK, LONGEST_LOOK)) => {}
                () = call.cancel.cancelled() => return Err(CallError::Cancelled),
            }
            if tokio::time::Instant::now() > rounds.deadline {
                return Err(CallError::Timeout { backend: Arc::clone(&self.name), after: self.patience.limit });
            }
            let answer = self.deliver(&about("tasks/get", id, call)).await?;
            task = serde_json::from_str(answer.result.get()).unwrap_or_default();
        }
    }

    /// Asks the client what a task asks, each thing once.
    async fn answer_task(
        &self,
        call: &Call,
        task: &Value,
        id: &str,
        rounds: &mut Rounds,
        answered: &mut Vec<String>,
    ) -> Result<(), CallError> {
        let mut asked = Asked::read(&crate::json::raw(&json!({"inputRequests": task["inputRequests"]})))
            .map_err(|reason| CallError::Protocol { backend: Arc::clone(&self.name), reason })?;
        asked.questions.retain(|(key, ..)| !answered.contains(key));
        if asked.questions.is_empty() {
            return Ok(());
        }
        let answers = self.ask_all(&asked, call, rounds).await?;
        answered.extend(answers.iter().map(|(key, _)| key.clone()));
        let responses: Vec<String> =
            answers.iter().map(|(key, answer)| format!("{}:{answer}", crate::json::quote(key))).collect();
        let mut update = about("tasks/update", id, call);
        let text = format!("{{\"taskId\":{},\"inputResponses\":{{{}}}}}", crate::json::quote(id), responses.join(","));
        update.params = crate::json::valid(text)
            .map_err(|error| CallError::Protocol { backend: Arc::clone(&self.name), reason: error.to_string() })?;
        self.deliver(&update).await.map(drop)
    }
}

/// A request about a task, for the caller of the tool.
fn about(method: &'static str, id: &str, call: &Call) -> Call {
    Call {
        method: method.into(),
        params: crate::json::raw(&json!({ "taskId": id })),
        timeout: call.timeout,
        cancel: call.cancel.clone(),
        party: call.party.clone(),
        passes_questions_on: false,
        takes_tasks: true,
        declares_tasks: true,
    }
}
