//! `proxy exec SCRIPT`: run a script over the published tools, as a model would in code mode.

use std::io::Read;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::call::used;
use super::failure::Failure;
use super::output;
use super::setup::{self, Source};
use crate::config::CodeMode;
use crate::diagnostic::Diagnostic;
use crate::gateway::Gateway;
use crate::json::Raw;
use crate::model::{Definition, Principal, error_result};
use crate::sandbox::{Event, ExitReason, Job, Run, ScriptResult, WorkerRequest, Workers, found_tool, no_such_tool};
use crate::server::Identity;
use crate::surface::Surface;
use crate::typings::identifiers;

/// The tool of code mode: where it is published, the script goes through it.
const TOOL: &str = "execute_tool_script";

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The file of the script, or - for standard input
    #[arg(value_name = "SCRIPT")]
    file: String,
    /// What the script finds in its variable `data`: a JSON object
    #[arg(long, value_name = "JSON")]
    data: Option<String>,
    #[command(flatten)]
    source: Source,
    /// Print JSON: what was returned as `result`, and what was `printed`
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let data = match arguments.data.as_deref().map(serde_json::from_str::<Value>) {
        None => json!({}),
        Some(Ok(data @ Value::Object(_))) => data,
        Some(Ok(_)) => return Err(Failure::usage("--data must be a JSON object")),
        Some(Err(error)) => return Err(Failure::usage(format!("--data is not JSON: {error}"))),
    };
    let script = text_of(&arguments.file)?;
    Workers::shared().warm_up();
    let limits = arguments.source.load()?.config.code_mode;
    let result = setup::with_gateway(&arguments.source, None, async |gateway, surface| {
        setup::report_missing(gateway);
        Ok(if surface.tool(TOOL).is_some() {
            let call = json!({"script": script, "data": data});
            used(gateway, &surface, local_user()?, TOOL, &call, None).await?
        } else {
            execute(&script, &data, &limits, gateway, &surface).await
        })
    })?;
    show(&serde_json::from_str(result.get()).unwrap_or_default(), arguments.json)
}

fn text_of(script: &str) -> Result<String, Failure> {
    if script != "-" {
        let problem = |error| Diagnostic::error(format!("`{script}` cannot be read: {error}"));
        return std::fs::read_to_string(Path::new(script)).map_err(|error| Failure::config(vec![problem(error)]));
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    Ok(text)
}

async fn execute(script: &str, data: &Value, limits: &CodeMode, gateway: &Arc<Gateway>, surface: &Arc<Surface>) -> Raw {
    let definitions = surface.tools().map(|entry| entry.definition.as_ref());
    let run = match Workers::shared().start(Job::new(script, data, definitions, limits), limits, None).await {
        Ok(run) => run,
        Err(ending) => return error_result(&ending.told(limits)),
    };
    let end = serve(&run, String::new(), limits, gateway, surface).await;
    run.result(end.and_then(|last| last.ok_or(ExitReason::Confused("it came to an end of nothing"))), limits)
}

type Served<'a> = Pin<Box<dyn Future<Output = Result<Option<ScriptResult>, ExitReason>> + 'a>>;

/// Serves a line of control of the script to its end, and those that come from it at the same time.
fn serve<'a>(
    run: &'a Run,
    line: String,
    limits: &'a CodeMode,
    gateway: &'a Arc<Gateway>,
    surface: &'a Arc<Surface>,
) -> Served<'a> {
    Box::pin(async move {
        loop {
            let (at, want) = match run.next(&line).await? {
                Event::Done(last) => return Ok(Some(last)),
                Event::End => return Ok(None),
                Event::WorkerRequest { at, want } => (at, want),
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
                    called(gateway, surface, &tool, arguments, timeout).await
                }
                WorkerRequest::Search { query, limit } => searched(surface, query, limit).await,
            };
            run.answer(&at, &value).await;
        }
    })
}

async fn called(
    gateway: &Arc<Gateway>,
    surface: &Arc<Surface>,
    tool: &str,
    arguments: Value,
    timeout: Duration,
) -> Raw {
    if surface.tool(tool).is_none() {
        return error_result(&no_such_tool(tool, surface.tools().map(|entry| entry.definition.key())));
    }
    let called = async { used(gateway, surface, local_user()?, tool, &arguments, Some(timeout)).await };
    match called.await {
        Ok(result) => result,
        Err(failure) => {
            let (_, diagnostics) = failure.into_parts();
            let reasons: Vec<String> = diagnostics.into_iter().map(|diagnostic| diagnostic.message).collect();
            error_result(&reasons.join("; "))
        }
    }
}

fn local_user() -> Result<Principal, Failure> {
    Ok(Identity::local_user(&setup::options(false)?.variables))
}

async fn searched(surface: &Arc<Surface>, query: String, limit: usize) -> Raw {
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

fn show(result: &Value, as_json: bool) -> Result<(), Failure> {
    if result["isError"] == Value::Bool(true) {
        let reason = result["content"][0]["text"].as_str().unwrap_or_default();
        return Err(Failure::failed(Diagnostic::error(reason)));
    }
    let structured = &result["structuredContent"];
    if as_json {
        output::json(structured);
        return Ok(());
    }
    if let Some(printed) = structured["printed"].as_str() {
        output::err(printed.trim_end_matches('\n'));
    }
    match &structured["result"] {
        Value::Null => {}
        Value::String(text) => output::out(text),
        value => output::json(value),
    }
    Ok(())
}
