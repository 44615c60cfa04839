//! Tools that work as tasks, in the form of either era. How a task stands follows from what it was told and nothing
//! else, so that no test waits for a clock.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::call::Call;
use crate::message::{self, CAPABILITIES_KEY, Refusal, quoted};
use crate::request::Request;
use crate::shared::Shared;

pub const EXTENSION: &str = "io.modelcontextprotocol/tasks";
const RELATED: &str = "io.modelcontextprotocol/related-task";
const QUESTION: &str =
    r#""message":"Which colour?","requestedSchema":{"type":"object","properties":{"colour":{"type":"string"}}}"#;
const STAMPS: &str = r#""createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z""#;

/// Name and how the tool goes with tasks.
pub const TOOLS: [(&str, &str); 2] = [("job", "required"), ("maybe", "optional")];

/// A task: what it was asked to do, and what it was told meanwhile.
#[derive(Clone)]
pub struct Task {
    arguments: Value,
    raw_arguments: String,
    answer: Option<String>,
    cancelled: bool,
}

impl Task {
    fn wants(&self, what: &str) -> bool {
        self.arguments[what] == true
    }

    fn status(&self, modern: bool) -> &'static str {
        match self.arguments["fail"].as_str() {
            _ if self.cancelled => "cancelled",
            _ if self.wants("ask") && self.answer.is_none() => "input_required",
            _ if self.wants("hold") => "working",
            Some("error") => "failed",
            // The eras disagree about a result that is an error.
            Some(_) if !modern => "failed",
            _ => "completed",
        }
    }

    fn result(&self, meta: &str) -> String {
        let is_error = if self.arguments["fail"] == "result" { r#","isError":true"# } else { "" };
        let answer = self.answer.as_deref().unwrap_or("null");
        format!(
            r#"{{"content":[{{"type":"text","text":"the job is done"}}],"structuredContent":{{"arguments":{},"answer":{answer},"n":1.10}}{is_error}{meta}}}"#,
            self.raw_arguments
        )
    }
}

/// `tools/call` of a tool that works as a task.
pub fn call(call: &Call, required: bool) {
    let modern = call.request.modern;
    let wanted = if modern { declared(&call.request) } else { call.request.parameter("task").is_some() };
    match (wanted, required) {
        (true, _) => begin(call),
        (false, false) => call.text("done at once"),
        (false, true) if modern => call.refuse(&undeclared()),
        (false, true) => call.refuse(&Refusal::new(404, -32601, "this tool works as a task only")),
    }
}

fn begin(call: &Call) {
    let raw_arguments = call.raw_arguments().to_owned();
    let arguments: Value = serde_json::from_str(&raw_arguments).unwrap_or_default();
    let at_once = arguments["at_once"] == true;
    let task = Task { arguments, raw_arguments, answer: None, cancelled: false };
    let id = {
        let mut inner = call.shared.lock();
        let id = format!("task-{}", inner.tasks.len() + 1);
        inner.tasks.insert(id.clone(), task);
        id
    };
    let id = quoted(&id);
    call.answer(&if call.request.modern {
        let status = if at_once { "completed" } else { "working" };
        format!(
            r#"{{"resultType":"task","taskId":{id},"status":"{status}",{STAMPS},"ttlMs":60000,"pollIntervalMs":20}}"#
        )
    } else {
        format!(
            r#"{{"task":{{"taskId":{id},"status":"working",{STAMPS},"ttl":60000,"pollInterval":20,"x-kept":1.10}}}}"#
        )
    });
}

fn declared(request: &Request) -> bool {
    let capabilities = request.meta(CAPABILITIES_KEY).map(|raw| raw.get().to_owned()).unwrap_or_default();
    serde_json::from_str::<Value>(&capabilities).is_ok_and(|all| all["extensions"].get(EXTENSION).is_some())
}

fn undeclared() -> Refusal {
    let data = json!({"requiredCapabilities": {"extensions": {EXTENSION: {}}}});
    Refusal::new(400, -32021, "this needs the tasks extension").with_data(data.to_string())
}

/// The methods about tasks.
pub async fn about(shared: &Arc<Shared>, request: &Request) -> Result<String, Refusal> {
    if request.modern && !declared(request) {
        return Err(undeclared());
    }
    let id = request.text_parameter("taskId").unwrap_or_default();
    let task = shared.lock().tasks.get(&id).cloned();
    let task = task.ok_or_else(|| Refusal::new(200, -32602, format!("there is no task {id}")))?;
    match (request.method.as_str(), request.modern) {
        ("tasks/get", true) => Ok(detailed(&id, &task)),
        ("tasks/get", false) => Ok(plain(&id, &task)),
        ("tasks/cancel", modern) => {
            let ended = matches!(task.status(modern), "completed" | "failed" | "cancelled");
            if ended && !modern {
                return Err(Refusal::new(200, -32602, "the task has ended"));
            }
            change(shared, &id, |task| task.cancelled |= !ended);
            let task = Task { cancelled: !ended, ..task };
            Ok(if modern { acknowledged() } else { plain(&id, &task) })
        }
        ("tasks/update", true) => {
            let answers = request.parameter("inputResponses");
            let answer = message::members(answers.as_deref()).remove("colour").map(|raw| raw.get().to_owned());
            change(shared, &id, |task| task.answer = answer.or(task.answer.take()));
            Ok(acknowledged())
        }
        ("tasks/result", false) => result(shared, request, &id).await,
        (method, _) => Err(Refusal::new(404, -32601, format!("there is no method {method}"))),
    }
}

fn acknowledged() -> String {
    r#"{"resultType":"complete"}"#.to_owned()
}

fn change(shared: &Shared, id: &str, change: impl FnOnce(&mut Task)) {
    if let Some(task) = shared.lock().tasks.get_mut(id) {
        change(task);
    }
    shared.changed.notify_waiters();
}

fn plain(id: &str, task: &Task) -> String {
    format!(r#"{{"taskId":{},"status":"{}",{STAMPS},"ttl":60000,"pollInterval":20}}"#, quoted(id), task.status(false))
}

fn detailed(id: &str, task: &Task) -> String {
    let status = task.status(true);
    let more = match status {
        "completed" => format!(r#","result":{}"#, task.result("")),
        "failed" => r#","error":{"code":-7,"message":"the job broke","data":1.10}"#.to_owned(),
        "input_required" => {
            format!(r#","inputRequests":{{"colour":{{"method":"elicitation/create","params":{{{QUESTION}}}}}}}"#)
        }
        _ => String::new(),
    };
    format!(
        r#"{{"resultType":"complete","taskId":{},"status":"{status}",{STAMPS},"ttlMs":60000,"pollIntervalMs":20{more}}}"#,
        quoted(id)
    )
}

/// Waits for the end of the task, asking meanwhile what it needs to know.
async fn result(shared: &Arc<Shared>, request: &Request, id: &str) -> Result<String, Refusal> {
    let meta = format!(r#""_meta":{{"x/kept":1,"{RELATED}":{{"taskId":{}}}}}"#, quoted(id));
    let mut told = false;
    loop {
        let changed = shared.changed.notified();
        let Some(task) = shared.lock().tasks.get(id).cloned() else { break };
        match task.status(false) {
            "input_required" => {
                let question = format!(r#""ask-{}""#, shared.next_number());
                let (sender, answer) = oneshot::channel();
                shared.lock().asked.insert(question.clone(), sender);
                let params = format!("{{{QUESTION},{meta}}}");
                request.outbox.text(message::request(&question, "elicitation/create", &params));
                tokio::select! {
                    answer = answer => change(shared, id, |task| task.answer = answer.ok()),
                    () = request.cancelled.cancelled() => break,
                }
            }
            "working" => {
                for known in [id, "somebody-else-s"].iter().filter(|_| !told) {
                    let params = format!(r#"{{"taskId":{},"status":"working",{STAMPS},"ttl":null}}"#, quoted(known));
                    request.outbox.notify("notifications/tasks/status", &params);
                }
                told = true;
                tokio::select! {
                    () = changed => {}
                    () = request.cancelled.cancelled() => break,
                }
            }
            "cancelled" => break,
            _ if task.arguments["fail"] == "error" => return Err(Refusal::new(200, -7, "the job broke")),
            _ => return Ok(task.result(&format!(",{meta}"))),
        }
    }
    Err(Refusal::new(200, -32603, "the task was cancelled"))
}
