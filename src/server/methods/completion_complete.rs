//! `completion/complete`: suggestions for an argument of a prompt or a resource template.

use std::sync::Arc;

use serde_json::json;

use super::MethodOutcome;
use super::item::encode;
use crate::backend::Peer;
use crate::builtins::Handler;
use crate::calls::{Forward, RequestContext};
use crate::json::{Object, Raw, RawRef, array, raw};
use crate::model::{ItemKind, ItemRef};
use crate::server::Server;
use crate::server::client::peer::{AskBy, ClientPeer};
use crate::server::era::{encode_for, missing_capability};
use crate::surface::PublishedItem;
use crate::wire::{Request, RpcError, without_reserved};

/// The maximum number of values that MCP allows in a completion.
const MAX_VALUES: usize = 100;

/// Completions come from the server whose prompt or template is being filled in.
pub(super) async fn complete(
    server: &Server,
    peer: &Arc<ClientPeer>,
    request: &RequestContext,
    message: &Request,
) -> MethodOutcome {
    let client = peer.client();
    let (target, params) = match completion_target(request, message) {
        Ok(Some(found)) => found,
        Ok(None) => {
            let none = crate::json::raw(&json!({"completion": {"values": [], "hasMore": false}}));
            return Some(encode_for::result(client.revision, none));
        }
        Err(error) => return Some(Err(error)),
    };
    // A completion must not ask the client anything.
    let peer = peer.asked_by(AskBy::Nothing);
    let request = RequestContext { peer: Some(peer as Arc<dyn Peer>), ..request.clone() };
    let (backend, method) = (&target.backend, "completion/complete".into());
    let forward = Forward { backend, method, params, accepts_task: false, timeout: None };
    let outcome = server.gateway.calls().forward(&request, forward).await;
    // The caching rules of `resources/read` do not apply to a completion.
    let kind = if target.kind == ItemKind::Resource { ItemKind::ResourceTemplate } else { target.kind };
    let outcome = outcome
        .map(within_limit)
        .or_else(|fault| missing_capability::resolve(client.revision, client.declared(), kind, fault));
    encode(outcome, kind, &target.name, client.revision)
}

/// The server's item, which a handler of the script may wrap, and the params with the server's name for it. `None` if the
/// item has no completions: the script made it, or its server does not support them.
fn completion_target(request: &RequestContext, message: &Request) -> Result<Option<(ItemRef, Raw)>, RpcError> {
    let invalid = |reason: &str| RpcError::invalid_params(reason);
    let params = message.params.as_deref().ok_or_else(|| invalid("`ref` is missing"))?;
    let params = without_reserved(params);
    let object = Object::of(&params).map_err(|error| invalid(&error.to_string()))?;
    let reference = object.get("ref").ok_or_else(|| invalid("`ref` is missing"))?;
    let reference = Object::of(reference).map_err(|error| invalid(&error.to_string()))?;
    let (kind, member) = match reference.string("type").as_deref() {
        Some("ref/prompt") => (ItemKind::Prompt, "name"),
        Some("ref/resource") => (ItemKind::ResourceTemplate, "uri"),
        _ => return Err(invalid("`ref.type` must be `ref/prompt` or `ref/resource`")),
    };
    let key = reference.string(member).ok_or_else(|| invalid(&format!("`ref.{member}` is missing")))?;
    let surface = &request.surface;
    let entry = surface.find(kind, &key).or_else(|| {
        // `ref/resource` may also name a resource without variables.
        (kind == ItemKind::ResourceTemplate).then(|| surface.find(ItemKind::Resource, &key)).flatten()
    });
    let entry = entry.ok_or_else(|| invalid(&format!("unknown {}: {key}", kind.noun())))?;
    let target = match (&entry.handler, &entry.origin) {
        (Handler::Backend(target), _) => target,
        (Handler::Script(_), Some(origin)) if publishes_argument(entry, &object) => origin,
        (Handler::Script(_), _) => return Ok(None),
    };
    // As this client sees the server: it may have completions only in one era.
    if !surface.origin().backend(&target.backend).is_some_and(|backend| backend.info.declares("completions")) {
        return Ok(None);
    }
    let reference = reference.edit().set(member, &raw(&*target.name)).finish_raw();
    Ok(Some((target.clone(), object.edit().set("ref", &reference).finish_raw())))
}

/// Whether a wrapped prompt is published with the argument that is to be completed. The script may have removed it because
/// nobody shall see its values.
fn publishes_argument(entry: &PublishedItem, params: &Object<'_>) -> bool {
    let argument = params.get("argument").and_then(|argument| Object::of(argument).ok()?.string("name"));
    entry.kind != ItemKind::Prompt
        || entry.definition.member("arguments").is_some_and(|published| {
            published.as_array().into_iter().flatten().any(|one| one["name"].as_str() == argument.as_deref())
        })
}

/// Truncates the values to the maximum that MCP allows.
fn within_limit(result: Raw) -> Raw {
    shortened(&result).unwrap_or(result)
}

fn shortened(result: &RawRef) -> Option<Raw> {
    let object = Object::of(result).ok()?;
    let completion = Object::of(object.get("completion")?).ok()?;
    let values: Vec<&RawRef> = serde_json::from_str(completion.get("values")?.get()).ok()?;
    if values.len() <= MAX_VALUES {
        return None;
    }
    let values = array(&values[..MAX_VALUES]);
    let completion = completion.edit().set("values", &values).set("hasMore", RawRef::TRUE).finish_raw();
    Some(object.edit().set("completion", &completion).finish_raw())
}
