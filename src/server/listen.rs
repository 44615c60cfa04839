//! `subscriptions/listen`: how a stateless client learns of changes.

use serde_json::{Map, Value, json};

use super::changes::Changes;
use super::methods::{Asked, Outcome};
use super::{Server, tell};
use crate::json::{Object, RawRef};
use crate::wire::{Id, Request, RpcError, encode, key};

/// What a client can ask to be told, and how it is told.
const FLAGS: [(&str, &str); 3] = [
    ("toolsListChanged", "notifications/tools/list_changed"),
    ("resourcesListChanged", "notifications/resources/list_changed"),
    ("promptsListChanged", "notifications/prompts/list_changed"),
];

impl Server {
    /// Runs until the client ends it (no answer) or the proxy does (a result).
    pub(super) async fn listen(&self, asked: Asked<'_>) -> Outcome {
        let Asked { request, client, cancel, outlet } = asked;
        let accepted = match filter(request) {
            Ok(accepted) => accepted,
            Err(error) => return Some(Err(error)),
        };
        let wanted: Vec<&str> =
            FLAGS.into_iter().filter(|(flag, _)| accepted.contains_key(*flag)).map(|(_, method)| method).collect();
        let mut changes = Changes::of(&self.gateway);
        let acknowledgment = tagged(&request.id, json!({ "notifications": accepted }));
        outlet.send(encode::notification("notifications/subscriptions/acknowledged", Some(&acknowledgment))).await;
        loop {
            tokio::select! {
                changed = changes.next() => {
                    let Some(changed) = changed else { break };
                    for method in changed.into_iter().filter(|method| wanted.contains(method)) {
                        let params = tagged(&request.id, json!({}));
                        outlet.send(encode::notification(method, Some(&params))).await;
                    }
                }
                () = cancel.cancelled() => return None,
                () = self.gateway.stopping() => break,
            }
        }
        let result = tagged(&request.id, json!({}));
        let result = crate::json::valid(result).map_err(|error| RpcError::internal(&error.to_string()));
        Some(result.and_then(|result| tell::listen_result(client.revision, &result)))
    }
}

/// The part of what the client asks for that the proxy will tell.
fn filter(request: &Request) -> Result<Map<String, Value>, RpcError> {
    let body = request.params.as_deref().map_or("{}", RawRef::get);
    let object = Object::parse(body).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
    let wanted: Option<Map<String, Value>> =
        object.get("notifications").and_then(|raw| serde_json::from_str(raw.get()).ok());
    let wanted = wanted.ok_or_else(|| RpcError::invalid_params("`notifications` must be an object"))?;
    let told = |name: &str| FLAGS.iter().any(|(flag, _)| *flag == name);
    Ok(wanted.into_iter().filter(|(name, value)| told(name) && *value == true).collect())
}

/// Params that say which subscription they belong to, by the id of its request as it was written.
fn tagged(id: &Id, params: Value) -> String {
    let mut text = params.to_string();
    text.pop();
    let comma = if text.len() > 1 { "," } else { "" };
    format!("{text}{comma}\"_meta\":{{\"{}\":{id}}}}}", key::SUBSCRIPTION_ID)
}
