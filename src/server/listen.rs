//! `subscriptions/listen`: how a stateless client learns of changes.

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::methods::{Client, Outcome};
use super::outlet::Outlet;
use super::{Server, changes, tell};
use crate::json::{Object, RawRef};
use crate::wire::{Id, Request, RpcError, encode, key};

impl Server {
    /// Runs until the client ends it (no answer) or the proxy does (a result).
    pub(super) async fn listen(
        &self,
        request: &Request,
        client: &Client,
        cancel: CancellationToken,
        outlet: &Outlet,
    ) -> Outcome {
        let accepted = match filter(request) {
            Ok(accepted) => accepted,
            Err(error) => return Some(Err(error)),
        };
        let mut tools = changes::Tools::of(&self.gateway);
        let acknowledgment = tagged(&request.id, json!({ "notifications": accepted }));
        outlet.send(encode::notification("notifications/subscriptions/acknowledged", Some(&acknowledgment))).await;
        let wants_tools = accepted.contains_key("toolsListChanged");
        loop {
            tokio::select! {
                changed = tools.changed(), if wants_tools => {
                    if !changed {
                        break;
                    }
                    let params = tagged(&request.id, json!({}));
                    outlet.send(encode::notification("notifications/tools/list_changed", Some(&params))).await;
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
    Ok(wanted.into_iter().filter(|(name, value)| name == "toolsListChanged" && *value == true).collect())
}

/// Params that say which subscription they belong to, by the id of its request as it was written.
fn tagged(id: &Id, params: Value) -> String {
    let mut text = params.to_string();
    text.pop();
    let comma = if text.len() > 1 { "," } else { "" };
    format!("{text}{comma}\"_meta\":{{\"{}\":{id}}}}}", key::SUBSCRIPTION_ID)
}
