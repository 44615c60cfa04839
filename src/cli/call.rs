//! `proxy call TOOL`: call a published tool as a client would.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::failure::Failure;
use super::output;
use super::setup::{self, Source};
use super::terminal;
use crate::backend::Peer;
use crate::calls::{CallFault, Caller};
use crate::diagnostic::{Diagnostic, nearest};
use crate::gateway::{Gateway, SurfaceHandle};
use crate::json::Raw;
use crate::model::{ItemKind, Principal, SurfaceKey};
use crate::server::Identity;
use crate::surface::Surface;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The tool's published name
    tool: String,
    /// Arguments: NAME=VALUE, where the value is JSON or, failing that or where the tool wants a string, text
    #[arg(value_name = "NAME=VALUE")]
    pairs: Vec<String>,
    /// All arguments as one JSON object; NAME=VALUE pairs are added to it
    #[arg(long, value_name = "JSON")]
    args: Option<String>,
    /// As this user: the `sub` of a token in the config, with their groups, or any other name
    #[arg(long, value_name = "SUB")]
    as_user: Option<String>,
    /// Give up after so long, for example 10s
    #[arg(long, value_name = "DURATION")]
    timeout: Option<String>,
    #[command(flatten)]
    source: Source,
    /// Print the whole result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let timeout = match &arguments.timeout {
        Some(text) => Some(
            crate::config::duration(text)
                .ok_or_else(|| Failure::usage(format!("`{text}` is not a duration such as 10s")))?,
        ),
        None => None,
    };
    // What is wrong with the words themselves needs no server to tell.
    values(arguments, &Value::Null)?;
    let wanted = Some(arguments.tool.as_str());
    let result = setup::with_gateway(&arguments.source, wanted, async |gateway, surface| {
        call(arguments, gateway, surface, timeout).await
    })?;
    let failed = result.get("isError") == Some(&Value::Bool(true));
    if arguments.json {
        output::json(&result);
    } else {
        show(&result);
    }
    if failed { Err(Failure::silent()) } else { Ok(()) }
}

async fn call(
    arguments: &Arguments,
    gateway: &Arc<Gateway>,
    surface: Arc<Surface>,
    timeout: Option<Duration>,
) -> Result<Value, Failure> {
    let name = &arguments.tool;
    let principal = match &arguments.as_user {
        Some(sub) => Identity::new(&arguments.source.load()?.config.tokens).named(sub),
        None => Identity::local_user(&setup::options(false)?.variables),
    };
    let view = SurfaceHandle::of(SurfaceKey { principal: principal.clone(), client: Arc::default() });
    let surface = match &arguments.as_user {
        Some(_) => gateway.surface(&view).await.map_err(|error| Failure::from(error.as_ref()))?,
        None => surface,
    };
    let Some(entry) = surface.tool(name) else { return Err(unknown_tool(name, &surface, gateway)) };
    let schema = entry.definition.member("inputSchema").unwrap_or_default();
    let result = used(gateway, &surface, principal, name, &Value::Object(values(arguments, &schema)?), timeout).await?;
    serde_json::from_str(result.get()).map_err(|error| Failure::usage(error.to_string()))
}

/// Calls a published tool in somebody's name.
pub(super) async fn used(
    gateway: &Arc<Gateway>,
    surface: &Arc<Surface>,
    principal: Principal,
    name: &str,
    arguments: &Value,
    timeout: Option<Duration>,
) -> Result<Raw, Failure> {
    let params = crate::json::raw(&json!({"name": name, "arguments": arguments}));
    let cancel = CancellationToken::new();
    let person = terminal::person();
    let caller = Caller {
        principal,
        client: Arc::default(),
        headers: Arc::default(),
        admitted: false,
        cancel: cancel.clone(),
        peer: person.clone().map(|person| person as Arc<dyn Peer>),
        objects_only: false,
        takes_rounds: false,
        takes_tasks: false,
        patient: false,
        past: None,
        policy: None,
    };
    let calls = gateway.calls();
    let call = calls.item(surface, ItemKind::Tool, name, params, caller);
    let outcome = match timeout {
        None => Ok(call.await),
        Some(limit) => tokio::time::timeout(limit, call).await.map_err(|_| limit),
    };
    if let Some(person) = person {
        person.clear();
    }
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(limit) => {
            cancel.cancel();
            let message = format!("`{name}` did not answer within {} s", limit.as_secs_f32());
            return Err(Failure::failed(Diagnostic::error(message)));
        }
    };
    match outcome {
        Ok(result) => Ok(result),
        Err(CallFault::Backend(error)) => Err(Failure::failed(Diagnostic::error(error.to_string()))),
        Err(CallFault::Failed { message, .. }) => Err(Failure::failed(Diagnostic::error(message))),
        Err(CallFault::Unknown | CallFault::Cancelled | CallFault::Asks(_)) => {
            Err(Failure::failed(Diagnostic::error(format!("`{name}` was not called"))))
        }
    }
}

fn unknown_tool(name: &str, surface: &Surface, gateway: &Gateway) -> Failure {
    // It may be one of these that should give it.
    output::diagnostics(&gateway.extension_problems());
    let mut diagnostic = Diagnostic::error(format!("no tool `{name}` is published"));
    let snapshot = gateway.snapshot();
    for backend in snapshot.backends.iter().filter(|backend| !backend.error.is_empty()) {
        diagnostic = diagnostic.note(format!("server `{}` is not available: {}", backend.name, backend.error));
    }
    if surface.tool("call_tool").is_some()
        && surface.search_index().ready().tools().iter().any(|tool| tool.definition.key() == name)
    {
        let hint = format!("it is behind `call_tool`: `proxy call call_tool tool_name={name} parameters='{{...}}'`");
        return Failure::failed(diagnostic.hint(hint));
    }
    let names: Vec<&str> = surface.tools().map(|entry| entry.definition.key()).collect();
    Failure::failed(match nearest(name, names) {
        Some(near) => diagnostic.hint(format!("did you mean `{near}`?")),
        None => diagnostic.hint("`proxy list-tools` lists what there is"),
    })
}

fn values(arguments: &Arguments, schema: &Value) -> Result<Map<String, Value>, Failure> {
    let mut values = match &arguments.args {
        Some(text) => match serde_json::from_str(text) {
            Ok(Value::Object(values)) => values,
            Ok(_) => return Err(Failure::usage("--args must be a JSON object")),
            Err(error) => return Err(Failure::usage(format!("--args is not JSON: {error}"))),
        },
        None => Map::new(),
    };
    for pair in &arguments.pairs {
        let (name, text) = pair.split_once('=').ok_or_else(|| Failure::usage(format!("`{pair}` is not NAME=VALUE")))?;
        let wants_text = schema["properties"][name]["type"] == "string";
        let value = if wants_text { None } else { serde_json::from_str(text).ok() };
        values.insert(name.to_owned(), value.unwrap_or_else(|| Value::from(text)));
    }
    Ok(values)
}

/// The result for a person: text as it is, the rest named.
fn show(result: &Value) {
    let blocks = result["content"].as_array().cloned().unwrap_or_default();
    for block in &blocks {
        match block["type"].as_str() {
            Some("text") => output::out(block["text"].as_str().unwrap_or_default()),
            Some(kind) => output::out(&format!("[{kind} {}]", block["mimeType"].as_str().unwrap_or_default())),
            None => output::out(&block.to_string()),
        }
    }
    if blocks.is_empty() && !result["structuredContent"].is_null() {
        output::json(&result["structuredContent"]);
    }
}
