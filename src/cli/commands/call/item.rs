//! One use of a published item: its options on the command line, the request, and the errors.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use crate::backend::{CallError, Peer};
use crate::calls::{ItemCall, RequestContext};
use crate::cli::failure::CommandFailure;
use crate::cli::query::{self, QueryArgs};
use crate::cli::setup;
use crate::cli::{output, terminal};
use crate::diagnostic::{Diagnostic, nearest};
use crate::gateway::Gateway;
use crate::json::Raw;
use crate::model::{ItemKind, Principal};
use crate::server::Identity;
use crate::surface::{PublishedItem, Surface};

#[derive(Debug, Args)]
pub(crate) struct ItemOptions {
    /// Do it as this user: the `sub` of a token in the config, or any other name
    #[arg(long, value_name = "SUB")]
    as_user: Option<String>,
    /// Timeout, such as 10s
    #[arg(long, value_name = "DURATION")]
    timeout: Option<String>,
    #[command(flatten)]
    query: QueryArgs,
    /// Print the full result as JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl ItemOptions {
    /// Uses a published item with the params that are made for it. Returns the result.
    pub(super) fn use_item(
        &self,
        kind: ItemKind,
        key: &str,
        params: impl FnOnce(&PublishedItem) -> Result<Value, CommandFailure>,
    ) -> Result<Value, CommandFailure> {
        let timeout = match &self.timeout {
            Some(text) => Some(crate::config::duration(text).ok_or_else(|| {
                CommandFailure::usage(format!("invalid duration `{text}`: write it as 10s, 500ms or 2m"))
            })?),
            None => None,
        };
        let loaded = self.query.source.load()?;
        let principal = match &self.as_user {
            Some(sub) => Identity::new(&loaded.config.tokens).named(sub),
            None => Identity::local_user(&setup::variables()),
        };
        let user = (&loaded, principal.clone());
        query::with_item(&self.query, user, (kind, key), !self.json, async |gateway, surface| {
            let Some(entry) = surface.find(kind, key) else { return Err(unknown(kind, key, &surface, gateway)) };
            let params = params(entry)?;
            let result = call_item(gateway, &surface, principal, (kind, key), &params, timeout).await?;
            serde_json::from_str(result.get()).map_err(|error| CommandFailure::usage(error.to_string()))
        })
    }
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
    let params = json!({"name": name, "arguments": arguments});
    call_item(gateway, surface, principal, (ItemKind::Tool, name), &params, timeout).await
}

/// Uses a published item as the given user.
async fn call_item(
    gateway: &Arc<Gateway>,
    surface: &Arc<Surface>,
    principal: Principal,
    (kind, key): (ItemKind, &str),
    params: &Value,
    timeout: Option<Duration>,
) -> Result<Raw, CommandFailure> {
    let user = terminal::user();
    let peer = user.clone().map(|user| user as Arc<dyn Peer>);
    let request = RequestContext::local(principal, Arc::clone(surface), peer);
    let calls = gateway.calls();
    let call = calls.item(&request, ItemCall::new(surface, kind, key, crate::json::raw(params)));
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
            let message = format!("`{key}` did not answer within {} s", limit.as_secs_f32());
            return Err(CommandFailure::failed(Diagnostic::error(message)));
        }
    };
    match outcome {
        Ok(result) => Ok(result),
        Err(CallError::Rejected(error)) => Err(CommandFailure::failed(Diagnostic::error(error.message()))),
        Err(CallError::Unknown | CallError::Cancelled | CallError::Asks(_)) => {
            let verb = if kind == ItemKind::Tool { "called" } else { "read" };
            Err(CommandFailure::failed(Diagnostic::error(format!("`{key}` was not {verb}"))))
        }
        Err(error) => Err(CommandFailure::failed(Diagnostic::error(error.to_string()))),
    }
}

fn unknown(kind: ItemKind, key: &str, surface: &Surface, gateway: &Gateway) -> CommandFailure {
    // A broken extension may be the one that offers the item.
    output::diagnostics(&gateway.extension_problems());
    let mut diagnostic = Diagnostic::error(format!("unknown {} `{key}`", kind.noun()));
    let snapshot = gateway.snapshot();
    for backend in snapshot.backends.iter().filter(|backend| !backend.error.is_empty()) {
        diagnostic = diagnostic.note(format!("server `{}` is not available: {}", backend.name, backend.error));
    }
    if let Some(source) = query::lists_from(gateway) {
        diagnostic = diagnostic.note(source);
    }
    if kind == ItemKind::Tool
        && surface.tool("call_tool").is_some()
        && surface.search_index().ready().tools().iter().any(|tool| tool.definition.key() == key)
    {
        let hint = format!("call it through `call_tool`: `proxy call call_tool tool_name={key} parameters='{{...}}'`");
        return CommandFailure::failed(diagnostic.hint(hint));
    }
    let kinds = if kind == ItemKind::Resource { &[kind, ItemKind::ResourceTemplate][..] } else { &[kind] };
    let names: Vec<&str> =
        kinds.iter().flat_map(|kind| surface.entries(*kind)).map(|entry| entry.definition.key()).collect();
    CommandFailure::failed(match nearest(key, names) {
        Some(near) => diagnostic.hint(format!("did you mean `{near}`?")),
        None => diagnostic.hint(format!("`proxy list-{0}s` lists the published {0}s", kind.noun())),
    })
}
