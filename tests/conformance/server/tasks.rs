//! Tools that become tasks for clients who know the extension.

use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock, CreateTaskResult, InputRequests, Tool,
};
use rmcp::task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions};
use serde_json::{Value, json};

use crate::call::Call;
use crate::dialogue::{Dialogue, Outcome};
use crate::fixtures::{text, tool};
use crate::questions::{form, one};

/// What takes longer is for tasks.
const LONGEST_CALL: Duration = Duration::from_secs(1);

#[derive(Clone, Default)]
pub struct Tasks {
    pub manager: TaskManager,
}

pub fn definitions() -> Vec<Tool> {
    let none = json!({});
    let text = json!({"type": "string"});
    vec![
        tool("greet", "Greets, always at once.", &json!({"name": text})),
        tool("slow_compute", "Takes its time.", &json!({"seconds": {"type": "number"}, "label": text})),
        tool("failing_job", "A task that ends with an error result.", &none),
        tool("protocol_error_job", "A task that fails.", &none),
        tool("confirm_delete", "A task that asks whether to go on.", &json!({"filename": text})),
        tool("multi_input", "A task that asks two things at once.", &none),
        tool("test_tool_with_task", "Asks for a name, then becomes a task.", &none),
    ]
}

impl Tasks {
    pub async fn call(&self, call: &Call) -> Option<Result<CallToolResponse, ErrorData>> {
        Some(match call.name.as_str() {
            "greet" => Ok(text(greeting(call.text("name")))),
            "slow_compute" => self.slow_compute(call).await,
            "failing_job" => self.failing_job(call),
            "protocol_error_job" => self.protocol_error_job(call),
            "confirm_delete" => self.ask(call, confirmation(call.text("filename"))).await,
            "multi_input" => self.ask(call, two_questions()).await,
            "test_tool_with_task" => self.ask_then_work(call).await,
            _ => return None,
        })
    }

    fn start<F>(&self, work: impl FnOnce(TaskContext) -> F) -> CallToolResponse
    where
        F: Future<Output = Result<CallToolResult, TaskExit>> + Send + 'static,
    {
        let options = TaskOptions::default().with_poll_interval_ms(100);
        CreateTaskResult::new(self.manager.spawn(options, |task| Box::pin(work(task)))).into()
    }

    async fn slow_compute(&self, call: &Call) -> Result<CallToolResponse, ErrorData> {
        let seconds = call.arguments.get("seconds").and_then(Value::as_f64).unwrap_or(1.0);
        let pause = Duration::try_from_secs_f64(seconds)
            .map_err(|problem| ErrorData::invalid_params(problem.to_string(), None))?;
        let result = format!("computed {} in {seconds} seconds", call.text("label"));
        if knows_tasks(call) {
            return Ok(self.start(move |task| async move {
                tokio::select! {
                    () = tokio::time::sleep(pause) => Ok(success(result)),
                    () = task.cancelled() => Err(TaskExit::Cancelled),
                }
            }));
        }
        tokio::time::sleep(pause.min(LONGEST_CALL)).await;
        Ok(text(result))
    }

    fn failing_job(&self, call: &Call) -> Result<CallToolResponse, ErrorData> {
        if !knows_tasks(call) {
            let needed = ClientCapabilities::builder().enable_tasks().build();
            return Err(ErrorData::missing_required_client_capability(needed));
        }
        Ok(self.start(|_| async { Ok(CallToolResult::error(vec![ContentBlock::text("This job fails.")])) }))
    }

    fn protocol_error_job(&self, call: &Call) -> Result<CallToolResponse, ErrorData> {
        let failure = ErrorData::internal_error("this job breaks", None);
        if knows_tasks(call) { Ok(self.start(|_| async { Err(failure.into()) })) } else { Err(failure) }
    }

    /// Asks within the task, or within the call if there can be no task.
    async fn ask(
        &self,
        call: &Call,
        questions: Result<InputRequests, ErrorData>,
    ) -> Result<CallToolResponse, ErrorData> {
        let questions = questions?;
        if knows_tasks(call) {
            return Ok(self.start(move |task| async move {
                let asked = questions.into_iter().map(|(key, question)| task.request_input(key, question));
                futures::future::try_join_all(asked).await.map(|answers| success(json!(answers).to_string()))
            }));
        }
        Ok(match Dialogue::once(questions).hold(call).await? {
            Outcome::Asked(questions) => questions.into(),
            Outcome::Answered(answers) => text(json!(answers).to_string()),
        })
    }

    async fn ask_then_work(&self, call: &Call) -> Result<CallToolResponse, ErrorData> {
        let question = form("What is your name?", json!({"name": {"type": "string"}}))?;
        match Dialogue::once(one("user_name", question)).hold(call).await? {
            Outcome::Asked(questions) => Ok(questions.into()),
            Outcome::Answered(answers) => {
                let name = answers.get("user_name").and_then(|answer| answer["content"]["name"].as_str());
                let greeting = greeting(name.unwrap_or_default());
                if knows_tasks(call) { Ok(self.start(|_| async { Ok(success(greeting)) })) } else { Ok(text(greeting)) }
            }
        }
    }
}

fn knows_tasks(call: &Call) -> bool {
    call.capabilities().supports_tasks()
}

fn greeting(name: &str) -> String {
    format!("Hello, {name}!")
}

fn success(text: String) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

fn confirmation(file: &str) -> Result<InputRequests, ErrorData> {
    Ok(one("confirm", form(&format!("Delete {file}?"), json!({"confirm": {"type": "boolean"}}))?))
}

fn two_questions() -> Result<InputRequests, ErrorData> {
    Ok(InputRequests::from([
        ("first".to_owned(), form("The first value?", json!({"value": {"type": "string"}}))?),
        ("second".to_owned(), form("The second value?", json!({"value": {"type": "string"}}))?),
    ]))
}
