//! `proxy exec SCRIPT`: runs a script over the published tools, as a model does in code mode.

use std::io::Read;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::item::call_tool;
use crate::cli::failure::CommandFailure;
use crate::cli::output;
use crate::cli::query::{self, QueryArgs};
use crate::cli::setup;
use crate::config::CodeMode;
use crate::diagnostic::Diagnostic;
use crate::foreign_text::visible;
use crate::gateway::Gateway;
use crate::json::Raw;
use crate::model::{Definition, error_result};
use crate::sandbox::{
    ExitReason, ScriptEvent, ScriptJob, ScriptResult, ScriptRun, WorkerRequest, Workers, found_tool, no_such_tool,
};
use crate::server::Identity;
use crate::surface::Surface;
use crate::typings::identifiers;

/// The tool of code mode. If it is published, `proxy exec` runs the script through it.
const TOOL: &str = "execute_tool_script";

#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// File of the script, or - for standard input
    #[arg(value_name = "SCRIPT")]
    file: String,
    /// JSON object that the script can read as `data`
    #[arg(long, value_name = "JSON")]
    data: Option<String>,
    #[command(flatten)]
    query: QueryArgs,
    /// Print JSON with `result` and `printed`
    #[arg(long)]
    json: bool,
}

pub(in crate::cli::commands) fn run(args: &ExecArgs) -> Result<(), CommandFailure> {
    let data = match args.data.as_deref().map(serde_json::from_str::<Value>) {
        None => json!({}),
        Some(Ok(data @ Value::Object(_))) => data,
        Some(Ok(_)) => return Err(CommandFailure::usage("--data must be a JSON object")),
        Some(Err(error)) => return Err(CommandFailure::usage(format!("--data is not valid JSON: {error}"))),
    };
    let script = read_script(&args.file)?;
    Workers::shared().warm_up();
    let limits = args.query.source.load()?.config.code_mode;
    let result = query::with_gateway(&args.query, !args.json, async |gateway, surface| {
        setup::report_missing(gateway);
        Ok(if surface.tool(TOOL).is_some() {
            let call = json!({"script": script, "data": data});
            call_tool(gateway, &surface, Identity::local_user(&setup::variables()), TOOL, &call, None).await?
        } else {
            execute(&script, &data, &limits, gateway, &surface).await
        })
    })?;
    show(&serde_json::from_str(result.get()).unwrap_or_default(), args.json)
}

fn read_script(script: &str) -> Result<String, CommandFailure> {
    if script != "-" {
        let problem = |error| Diagnostic::error(format!("cannot read `{script}`: {error}"));
        return std::fs::read_to_string(Path::new(script))
            .map_err(|error| CommandFailure::config(vec![problem(error)]));
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    Ok(text)
}

async fn execute(script: &str, data: &Value, limits: &CodeMode, gateway: &Arc<Gateway>, surface: &Arc<Surface>) -> Raw {
    let definitions = surface.tools().map(|entry| entry.definition.as_ref());
    let run = match Workers::shared().start(ScriptJob::new(script, data, definitions, limits), limits, None).await {
        Ok(run) => run,
        Err(ending) => return error_result(&ending.message(limits)),
    };
    let ended = serve(&run, String::new(), limits, gateway, surface).await;
    let missing = ExitReason::Confused("the script ended without a result");
    run.result(ended.and_then(|result| result.ok_or(missing)), limits)
}

type BranchResult<'a> = Pin<Box<dyn Future<Output = Result<Option<ScriptResult>, ExitReason>> + 'a>>;

/// Serves the requests of one branch of the script until the branch ends, and concurrently those of its own branches.
fn serve<'a>(
    run: &'a ScriptRun,
    branch: String,
    limits: &'a CodeMode,
    gateway: &'a Arc<Gateway>,
    surface: &'a Arc<Surface>,
) -> BranchResult<'a> {
    Box::pin(async move {
        loop {
            let (at, want) = match run.next(&branch).await? {
                ScriptEvent::Done(result) => return Ok(Some(result)),
                ScriptEvent::End => return Ok(None),
                ScriptEvent::WorkerRequest { at, want } => (at, want),
            };
            let value = match want {
                WorkerRequest::Fork { count, .. } => {
                    let branches =
                        (0..count).map(|number| serve(run, format!("{at}.{number}."), limits, gateway, surface));
                    futures::future::try_join_all(branches).await?;
                    continue;
                }
                WorkerRequest::Call { tool, arguments } => {
                    let arguments = serde_json::from_str(arguments.get()).unwrap_or_default();
                    let timeout = limits.tool_call_timeout.min(run.time_left());
                    call(gateway, surface, &tool, arguments, timeout).await
                }
                WorkerRequest::Search { query, limit } => search(surface, query, limit).await,
            };
            run.answer(&at, &value).await;
        }
    })
}

async fn call(gateway: &Arc<Gateway>, surface: &Arc<Surface>, tool: &str, arguments: Value, timeout: Duration) -> Raw {
    if surface.tool(tool).is_none() {
        return error_result(&no_such_tool(tool, surface.tools().map(|entry| entry.definition.key())));
    }
    let caller = Identity::local_user(&setup::variables());
    match call_tool(gateway, surface, caller, tool, &arguments, Some(timeout)).await {
        Ok(result) => result,
        Err(failure) => {
            let (_, diagnostics) = failure.into_parts();
            let reasons: Vec<String> = diagnostics.into_iter().map(|diagnostic| diagnostic.message).collect();
            error_result(&reasons.join("; "))
        }
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
        crate::json::raw(&found.collect::<Vec<_>>())
    });
    found.await.unwrap_or_else(|error| error_result(&error.to_string()))
}

fn show(result: &Value, as_json: bool) -> Result<(), CommandFailure> {
    if result["isError"] == Value::Bool(true) {
        let reason = result["content"][0]["text"].as_str().unwrap_or_default();
        return Err(CommandFailure::failed(Diagnostic::error(reason)));
    }
    let structured = &result["structuredContent"];
    if as_json {
        output::json(structured);
        return Ok(());
    }
    if let Some(printed) = structured["printed"].as_str() {
        output::err(&visible(printed.trim_end_matches('\n')));
    }
    match &structured["result"] {
        Value::Null => {}
        Value::String(text) => output::data(text),
        value => output::json(value),
    }
    Ok(())
}
