//! `completion/complete`: what could stand for an argument of a prompt or a resource template.

use serde_json::json;

use super::items::told;
use super::methods::{Asked, Outcome};
use super::peer::{ClientPeer, Way};
use super::{Server, encode_for, missing};
use crate::builtins::Handler;
use crate::json::{Object, Raw, RawRef, array, raw};
use crate::model::{ItemKind, ItemRef};
use crate::wire::{RpcError, without_reserved};

/// The protocol allows no more.
const LIMIT: usize = 100;

impl Server {
    /// Completions come from the server whose prompt or template is being filled in.
    pub(super) async fn complete(&self, asked: Asked<'_>) -> Outcome {
        let revision = asked.client.revision;
        let (target, params) = match self.completion_target(&asked).await {
            Ok(Some(found)) => found,
            Ok(None) => {
                let none = crate::json::raw(&json!({"completion": {"values": [], "hasMore": false}}));
                return Some(encode_for::result(revision, none));
            }
            Err(error) => return Some(Err(error)),
        };
        let peer = ClientPeer::new(asked.client, asked.sink, None, Way::None);
        let caller = asked.client.caller(asked.cancel, Some(peer));
        let outcome = self.gateway.calls().forward(&target.backend, "completion/complete", params, caller).await;
        // What a read may be kept for does not concern a completion.
        let kind = if target.kind == ItemKind::Resource { ItemKind::ResourceTemplate } else { target.kind };
        let outcome = outcome.map(within_limit).or_else(|fault| missing::settled(asked.client, kind, fault));
        told(outcome, kind, &target.name, revision)
    }

    /// The server to ask, and the request as it knows it; none if that server completes nothing.
    async fn completion_target(&self, asked: &Asked<'_>) -> Result<Option<(ItemRef, Raw)>, RpcError> {
        let invalid = |message: &str| RpcError::invalid_params(message);
        let params = asked.request.params.as_deref().ok_or_else(|| invalid("`ref` is missing"))?;
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
        let surface = self.surface(asked.client).await?;
        let entry = surface.find(kind, &key).or_else(|| {
            // A resource without variables may be named too.
            (kind == ItemKind::ResourceTemplate).then(|| surface.find(ItemKind::Resource, &key)).flatten()
        });
        let entry = entry.ok_or_else(|| invalid(&format!("unknown {}: {key}", kind.noun())))?;
        let Handler::Backend(target) = &entry.handler else { return Ok(None) };
        let snapshot = self.gateway.snapshot();
        let completes = snapshot
            .backend(&target.backend)
            .is_some_and(|backend| backend.info.capabilities.get("completions").is_some());
        if !completes {
            return Ok(None);
        }
        let reference = reference.edit().set(member, &raw(&*target.name)).finish_raw();
        Ok(Some((target.clone(), object.edit().set("ref", &reference).finish_raw())))
    }
}

/// The first values, where a server gives more than are allowed.
fn within_limit(result: Raw) -> Raw {
    shortened(&result).unwrap_or(result)
}

fn shortened(result: &RawRef) -> Option<Raw> {
    let object = Object::of(result).ok()?;
    let completion = Object::of(object.get("completion")?).ok()?;
    let values: Vec<&RawRef> = serde_json::from_str(completion.get("values")?.get()).ok()?;
    if values.len() <= LIMIT {
        return None;
    }
    let values = array(&values[..LIMIT]);
    let completion = completion.edit().set("values", &values).set("hasMore", RawRef::TRUE).finish_raw();
    Some(object.edit().set("completion", &completion).finish_raw())
}
