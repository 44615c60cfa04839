//! `completion/complete`: suggestions for an argument of a prompt or a resource template.

use std::sync::Arc;

use serde_json::json;

use super::MethodOutcome;
use super::item::encode;
use crate::backend::Peer;
use crate::builtins::Handler;
use crate::calls::{Forward, OtherRequest, RequestContext};
use crate::json::{Object, Raw, RawRef, array, object, raw};
use crate::model::{ItemKind, ItemRef};
use crate::server::Server;
use crate::server::client::peer::{AskBy, ClientPeer};
use crate::server::era::{encode_for, missing_capability};
use crate::surface::{PublishedItem, Surface};
use crate::wire::{Request, RpcError, without_reserved};

const METHOD: &str = "completion/complete";
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
    let Some(params) = message.params.as_deref() else {
        return Some(Err(RpcError::invalid_params("`ref` is missing")));
    };
    let params = without_reserved(params);
    let completion = match Completion::read(&params, &request.surface) {
        Ok(completion) => completion,
        Err(error) => return Some(Err(error)),
    };
    let calls = server.gateway.calls();
    let Ok(permit) = calls.listed_permit(request, completion.entry) else {
        return Some(Err(unknown(completion.kind, &completion.key)));
    };
    // A completion must not ask the client anything.
    let peer = peer.asked_by(AskBy::Nothing);
    let request = RequestContext { peer: Some(peer as Arc<dyn Peer>), ..request.clone() };
    if let Err(refused) = calls.admit_other(&request, || completion.as_other_request(&params)).await {
        return encode(Err(refused), completion.kind, &completion.key, client.revision);
    }
    let Some((target, params)) = completion.target(&request.surface) else {
        let none = crate::json::raw(&json!({"completion": {"values": [], "hasMore": false}}));
        return Some(encode_for::result(client.revision, none));
    };
    let (backend, method) = (&target.backend, METHOD.into());
    let forward = Forward { backend, method, params, accepts_task: false, timeout: None, permit };
    let outcome = calls.forward(&request, forward).await;
    // The caching rules of `resources/read` do not apply to a completion.
    let kind = if target.kind == ItemKind::Resource { ItemKind::ResourceTemplate } else { target.kind };
    let outcome = outcome
        .map(within_limit)
        .or_else(|fault| missing_capability::resolve(client.revision, client.declared(), kind, fault));
    encode(outcome, kind, &target.name, client.revision)
}

fn unknown(kind: ItemKind, key: &str) -> RpcError {
    RpcError::invalid_params(&format!("unknown {}: {key}", kind.noun()))
}

/// A request for completions of an item that is published.
struct Completion<'a> {
    params: Object<'a>,
    reference: Object<'a>,
    kind: ItemKind,
    /// The member of `ref` that names the item.
    member: &'static str,
    /// The published name or URI template.
    key: String,
    entry: &'a PublishedItem,
}

impl<'a> Completion<'a> {
    fn read(params: &'a RawRef, surface: &'a Surface) -> Result<Self, RpcError> {
        let invalid = |reason: &str| RpcError::invalid_params(reason);
        let params = Object::of(params).map_err(|error| invalid(&error.to_string()))?;
        let reference = params.get("ref").ok_or_else(|| invalid("`ref` is missing"))?;
        let reference = Object::of(reference).map_err(|error| invalid(&error.to_string()))?;
        let (kind, member) = match reference.string("type").as_deref() {
            Some("ref/prompt") => (ItemKind::Prompt, "name"),
            Some("ref/resource") => (ItemKind::ResourceTemplate, "uri"),
            _ => return Err(invalid("`ref.type` must be `ref/prompt` or `ref/resource`")),
        };
        let key = reference.string(member).ok_or_else(|| invalid(&format!("`ref.{member}` is missing")))?;
        let entry = surface.find(kind, &key).or_else(|| {
            // `ref/resource` may also name a resource without variables.
            (kind == ItemKind::ResourceTemplate).then(|| surface.find(ItemKind::Resource, &key)).flatten()
        });
        let entry = entry.ok_or_else(|| unknown(kind, &key))?;
        Ok(Completion { params, reference, kind, member, key, entry })
    }

    /// The request as `on_other_request` sees it: which argument, what has been typed, and what the others are.
    fn as_other_request<'b>(&'b self, params: &'b RawRef) -> OtherRequest<'b> {
        let argument = self.params.get("argument").and_then(|argument| Object::of(argument).ok());
        let text = |member| argument.as_ref().and_then(|argument| argument.string(member)).unwrap_or_default();
        let context = self.params.get("context").and_then(|context| Object::of(context).ok()?.get("arguments"));
        let arguments = object([
            ("argument", raw(&text("name"))),
            ("value", raw(&text("value"))),
            ("context", context.unwrap_or(RawRef::EMPTY_OBJECT).to_owned()),
        ]);
        OtherRequest { method: METHOD, name: &self.key, arguments, forwarded: Some(params) }
    }

    /// The server's item, which a handler of the script may wrap, and the params with the server's name for it. `None` if
    /// the item has no completions: the script made it, or its server does not support them.
    fn target(&self, surface: &Surface) -> Option<(ItemRef, Raw)> {
        let target = match (&self.entry.handler, &self.entry.origin) {
            (Handler::Backend(target), _) => target,
            (Handler::Script(_), Some(origin)) if publishes_argument(self.entry, &self.params) => origin,
            (Handler::Script(_), _) => return None,
        };
        // As this client sees the server: it may have completions only in one era.
        if !surface.origin().backend(&target.backend).is_some_and(|backend| backend.info.declares("completions")) {
            return None;
        }
        let reference = self.reference.edit().set(self.member, &raw(&*target.name)).finish_raw();
        Some((target.clone(), self.params.edit().set("ref", &reference).finish_raw()))
    }
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
