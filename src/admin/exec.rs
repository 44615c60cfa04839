//! Runs a script over the published tools, as a model does in code mode.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::find;
use super::operator::{Operator, UseError};
use proxy_code_mode::sandbox::{
    ExitReason, ScriptEvent, ScriptJob, ScriptResult, ScriptRun, WorkerRequest, Workers, found_tool, no_such_tool,
};
use proxy_code_mode::typings::identifiers;
use proxy_config::CodeMode;
use proxy_engine::surface::Surface;
use proxy_json::{Raw, raw};
use proxy_model::{Definition, ItemKind, error_result};

/// The tool of code mode. If it is published, the script runs through it.
const TOOL: &str = "execute_tool_script";

impl Operator {
    /// Runs a script. Returns a tool result, which may be an error.
    pub async fn exec(&self, script: &str, data: &Value, limits: &CodeMode) -> Result<Raw, UseError> {
        // A new process still has to embed the tools; scripts that search wait for that.
        if script.contains("search_tools") {
            find::settle(&self.surface).await;
        }
        if self.surface.tool(TOOL).is_some() {
            let params = json!({"name": TOOL, "arguments": {"script": script, "data": data}});
            return self.use_item(ItemKind::Tool, TOOL, raw(&params)).await;
        }
        let definitions = self.surface.tools().map(|entry| entry.definition.as_ref());
        let run = match Workers::shared().start(ScriptJob::new(script, data, definitions, limits), limits, None).await {
            Ok(run) => run,
            Err(ending) => return Ok(error_result(&ending.message(limits))),
        };
        let ended = serve(&run, String::new(), limits, self).await;
        let missing = ExitReason::Confused("the script ended without a result");
        Ok(run.result(ended.and_then(|result| result.ok_or(missing)), limits))
    }
}

type BranchResult<'a> = Pin<Box<dyn Future<Output = Result<Option<ScriptResult>, ExitReason>> + Send + 'a>>;

/// Serves the requests of one branch of the script until the branch ends, and those of its child branches concurrently.
fn serve<'a>(run: &'a ScriptRun, branch: String, limits: &'a CodeMode, operator: &'a Operator) -> BranchResult<'a> {
    Box::pin(async move {
        loop {
            let (at, want) = match run.next(&branch).await? {
                ScriptEvent::Done(result) => return Ok(Some(result)),
                ScriptEvent::End => return Ok(None),
                ScriptEvent::WorkerRequest { at, want } => (at, want),
            };
            let value = match want {
                WorkerRequest::Fork { count, .. } => {
                    let branches = (0..count).map(|number| serve(run, format!("{at}.{number}."), limits, operator));
                    futures::future::try_join_all(branches).await?;
                    continue;
                }
                WorkerRequest::Call { tool, arguments } => {
                    let timeout = limits.tool_call_timeout.min(run.time_left());
                    tokio::select! {
                        value = call(operator, &tool, &arguments, timeout) => value,
                        // The next event says why.
                        () = run.lost().cancelled() => continue,
                    }
                }
                WorkerRequest::Search { query, limit } => search(&operator.surface, query, limit).await,
            };
            run.answer(&at, &value).await;
        }
    })
}

async fn call(operator: &Operator, tool: &str, arguments: &Raw, timeout: Duration) -> Raw {
    let unknown = || no_such_tool(tool, operator.surface.tools().map(|entry| entry.definition.key()));
    let arguments: Value = serde_json::from_str(arguments.get()).unwrap_or_default();
    let params = raw(&json!({"name": tool, "arguments": arguments}));
    match tokio::time::timeout(timeout, operator.use_item(ItemKind::Tool, tool, params)).await {
        Ok(Ok(result)) => result,
        Ok(Err(UseError::Unknown)) => error_result(&unknown()),
        Ok(Err(UseError::Failed(message))) => error_result(&message),
        Err(_) => error_result(&format!("`{tool}` did not answer within {} s", timeout.as_secs_f32())),
    }
}

async fn search(surface: &Arc<Surface>, query: String, limit: usize) -> Raw {
    let shared = surface.search_index();
    let found = tokio::task::spawn_blocking(move || {
        let index = shared.ready();
        let functions = identifiers(index.tools().iter().map(|tool| tool.definition.key()));
        let found = index.search(&query, limit).into_iter().map(|hit| {
            let definition: &Definition = &index.tools()[hit.tool].definition;
            found_tool(definition, functions[hit.tool].as_deref())
        });
        raw(&found.collect::<Vec<_>>())
    });
    found.await.unwrap_or_else(|error| error_result(&error.to_string()))
}
