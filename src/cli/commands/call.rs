//! `proxy call TOOL`: calls a published tool as a client would.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value, json};

use crate::backend::CallError;
use crate::backend::Peer;
use crate::calls::{ItemCall, RequestContext};
use crate::cli::failure::CommandFailure;
use crate::cli::setup::{self, SourceArgs};
use crate::cli::{output, terminal};
use crate::diagnostic::{Diagnostic, nearest};
use crate::gateway::Gateway;
use crate::json::Raw;
use crate::model::{ItemKind, Principal};
use crate::server::Identity;
use crate::surface::Surface;

#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// Published name of the tool
    tool: String,
    /// Arguments. VALUE is JSON; if it is not valid JSON, or the schema expects a string, it is text
    #[arg(value_name = "NAME=VALUE")]
    pairs: Vec<String>,
    /// JSON object with arguments; NAME=VALUE pairs are added to it
    #[arg(long, value_name = "JSON")]
    args: Option<String>,
    /// Call as this user: the `sub` of a token in the config, or any other name
    #[arg(long, value_name = "SUB")]
    as_user: Option<String>,
    /// Timeout for the call, such as 10s
    #[arg(long, value_name = "DURATION")]
    timeout: Option<String>,
    #[command(flatten)]
    source: SourceArgs,
    /// Print the full result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &CallArgs) -> Result<(), CommandFailure> {
    let timeout = match &args.timeout {
        Some(text) => Some(crate::config::duration(text).ok_or_else(|| {
            CommandFailure::usage(format!("invalid duration `{text}`: write it as 10s, 500ms or 2m"))
        })?),
        None => None,
    };
    // Report malformed arguments before starting any server.
    values(args, &Value::Null)?;
    let tool = Some(args.tool.as_str());
    let loaded = args.source.load()?;
    let principal = match &args.as_user {
        Some(sub) => Identity::new(&loaded.config.tokens).named(sub),
        None => Identity::local_user(&setup::variables()),
    };
    let result = setup::with_user(&loaded, tool, principal.clone(), async |gateway, surface| {
        call(args, gateway, surface, principal, timeout).await
    })?;
    let failed = result.get("isError") == Some(&Value::Bool(true));
    if args.json {
        output::json(&result);
    } else {
        show(&result);
    }
    if failed { Err(CommandFailure::already_reported(1)) } else { Ok(()) }
}

async fn call(
    args: &CallArgs,
    gateway: &Arc<Gateway>,
    surface: Arc<Surface>,
    principal: Principal,
    timeout: Option<Duration>,
) -> Result<Value, CommandFailure> {
    let name = &args.tool;
    let Some(entry) = surface.tool(name) else { return Err(unknown_tool(name, &surface, gateway)) };
    let schema = entry.definition.member("inputSchema").unwrap_or_default();
    let result = call_tool(gateway, &surface, principal, name, &Value::Object(values(args, &schema)?), timeout).await?;
    serde_json::from_str(result.get()).map_err(|error| CommandFailure::usage(error.to_string()))
}

/// Calls a published tool as the given user.
pub(super) async fn call_tool(
    gateway: &Arc<Gateway>,
    surface: &Arc<Surface>,
    principal: Principal,
    name: &str,
    arguments: &Value,
    timeout: Option<Duration>,
) -> Result<Raw, CommandFailure> {
    let params = crate::json::raw(&json!({"name": name, "arguments": arguments}));
    let user = terminal::user();
    let peer = user.clone().map(|user| user as Arc<dyn Peer>);
    let request = RequestContext::local(principal, Arc::clone(surface), peer);
    let calls = gateway.calls();
    let call = calls.item(&request, ItemCall::new(surface, ItemKind::Tool, name, params));
    let outcome = match timeout {
        None => Ok(call.await),
        Some(limit) => tokio::time::timeout(limit, call).await.map_err(|_| limit),
    };
    if let Some(user) = user {
        user.clear_progress();
    }
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(limit) => {
            request.cancel.cancel(None);
            let message = format!("`{name}` did not answer within {} s", limit.as_secs_f32());
            return Err(CommandFailure::failed(Diagnostic::error(message)));
        }
    };
    match outcome {
        Ok(result) => Ok(result),
        Err(CallError::Rejected(error)) => Err(CommandFailure::failed(Diagnostic::error(error.message()))),
        Err(CallError::Unknown | CallError::Cancelled | CallError::Asks(_)) => {
            Err(CommandFailure::failed(Diagnostic::error(format!("`{name}` was not called"))))
        }
        Err(error) => Err(CommandFailure::failed(Diagnostic::error(error.to_string()))),
    }
}

fn unknown_tool(name: &str, surface: &Surface, gateway: &Gateway) -> CommandFailure {
    // A broken extension may be the one that offers the tool.
    output::diagnostics(&gateway.extension_problems());
    let mut diagnostic = Diagnostic::error(format!("unknown tool `{name}`"));
    let snapshot = gateway.snapshot();
    for backend in snapshot.backends.iter().filter(|backend| !backend.error.is_empty()) {
        diagnostic = diagnostic.note(format!("server `{}` is not available: {}", backend.name, backend.error));
    }
    if surface.tool("call_tool").is_some()
        && surface.search_index().ready().tools().iter().any(|tool| tool.definition.key() == name)
    {
        let hint = format!("call it through `call_tool`: `proxy call call_tool tool_name={name} parameters='{{...}}'`");
        return CommandFailure::failed(diagnostic.hint(hint));
    }
    let names: Vec<&str> = surface.tools().map(|entry| entry.definition.key()).collect();
    CommandFailure::failed(match nearest(name, names) {
        Some(near) => diagnostic.hint(format!("did you mean `{near}`?")),
        None => diagnostic.hint("`proxy list-tools` lists the published tools"),
    })
}

fn values(args: &CallArgs, schema: &Value) -> Result<Map<String, Value>, CommandFailure> {
    let mut values = match &args.args {
        Some(text) => match serde_json::from_str(text) {
            Ok(Value::Object(values)) => values,
            Ok(_) => return Err(CommandFailure::usage("--args must be a JSON object")),
            Err(error) => return Err(CommandFailure::usage(format!("--args is not valid JSON: {error}"))),
        },
        None => Map::new(),
    };
    for pair in &args.pairs {
        let (name, text) = pair
            .split_once('=')
            .ok_or_else(|| CommandFailure::usage(format!("invalid argument `{pair}`: write it as NAME=VALUE")))?;
        let is_string = schema["properties"][name]["type"] == "string";
        let value = if is_string { None } else { serde_json::from_str(text).ok() };
        values.insert(name.to_owned(), value.unwrap_or_else(|| Value::from(text)));
    }
    Ok(values)
}

/// Prints text blocks as text, and other blocks by their type.
fn show(result: &Value) {
    let blocks = result["content"].as_array().cloned().unwrap_or_default();
    for block in &blocks {
        match block["type"].as_str() {
            Some("text") => output::data(block["text"].as_str().unwrap_or_default()),
            Some(kind) => output::data(&format!("[{kind} {}]", block["mimeType"].as_str().unwrap_or_default())),
            None => output::data(&block.to_string()),
        }
    }
    if blocks.is_empty() && !result["structuredContent"].is_null() {
        output::json(&result["structuredContent"]);
    }
}
