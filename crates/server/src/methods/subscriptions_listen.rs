//! `subscriptions/listen`: change notifications for a stateless client.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use indexmap::IndexSet;
use serde_json::{Map, Value, json};

use super::{MethodOutcome, capabilities, context, resources_subscribe, tasks};
use crate::Server;
use crate::client::list_changes::ListChanges;
use crate::client::peer::{AskBy, ClientPeer};
use crate::client::resource_updates;
use crate::client::resource_updates::ResourceUpdates;
use crate::client::sink::MessageSink;
use crate::client::state::Client;
use crate::era::encode_for;
use proxy_json::{Object, RawRef};
use proxy_mcp_client::Cancellation;
use proxy_wire::{Id, Request, RpcError, encode, key};

/// The flags in the params, and the notification that each of them requests.
const FLAGS: [(&str, &str); 3] = [
    ("toolsListChanged", "notifications/tools/list_changed"),
    ("resourcesListChanged", "notifications/resources/list_changed"),
    ("promptsListChanged", "notifications/prompts/list_changed"),
];

const METHOD: &str = "subscriptions/listen";
/// The member of the params that names single resources.
const RESOURCES: &str = "resourceSubscriptions";
/// How long servers may take to accept subscriptions before the acknowledgment is sent.
const SUBSCRIBE_TIMEOUT: Duration = Duration::from_secs(5);
/// The minimum time between two rounds of update notifications, for resources that change constantly.
const UPDATE_INTERVAL: Duration = Duration::from_millis(20);

/// Sends notifications until the client cancels the request (no result) or the proxy stops (a result).
pub(super) async fn listen(
    server: &Server,
    client: &Arc<Client>,
    sink: &MessageSink,
    message: &Request,
    cancel: Cancellation,
) -> MethodOutcome {
    if let Some(error) = tasks::undeclared(client, message) {
        return Some(Err(error));
    }
    let (mut accepted, resources) = match filter(message) {
        Ok(filter) => filter,
        Err(error) => return Some(Err(error)),
    };
    let methods: Vec<&str> =
        FLAGS.into_iter().filter(|(flag, _)| accepted.contains_key(*flag)).map(|(_, method)| method).collect();
    // Builds the client's surface first, because changes are found by comparison with it.
    let _ = capabilities::described_surface(server, &client.surface_handle).await;
    let mut changes = ListChanges::of(&server.gateway, &client.surface_handle);
    let updates = Arc::new(ResourceUpdates::default());
    let subscribed = tokio::select! {
        subscribed = subscribe_all(server, &updates, client, sink, &cancel, resources) => subscribed,
        () = cancel.cancelled() => return None,
    };
    if !subscribed.is_empty() {
        accepted.insert(RESOURCES.to_owned(), subscribed.into());
    }
    let _drained = server.drain.stream();
    let acknowledgment = tagged(&message.id, json!({ "notifications": accepted }));
    sink.send(encode::notification("notifications/subscriptions/acknowledged", Some(&acknowledgment))).await;
    loop {
        tokio::select! {
            changed = changes.next() => {
                let Some(changed) = changed else { break };
                for method in changed.into_iter().filter(|method| methods.contains(method)) {
                    let params = tagged(&message.id, json!({}));
                    sink.send(encode::notification(method, Some(&params))).await;
                }
            }
            () = updates.updated() => {
                for uri in updates.take_updates(&server.gateway, &client.surface_handle).await {
                    let params = tagged(&message.id, json!({ "uri": uri }));
                    sink.send(encode::notification(resource_updates::METHOD, Some(&params))).await;
                }
                tokio::time::sleep(UPDATE_INTERVAL).await;
            }
            () = cancel.cancelled() => return None,
            () = server.gateway.stopping() => {
                server.drain.turn().await;
                break;
            }
        }
    }
    let result = tagged(&message.id, json!({}));
    let result = proxy_json::valid(result).map_err(|error| RpcError::internal(&error.to_string()));
    Some(result.and_then(|result| encode_for::listen_result(client.revision, &result)))
}

/// Subscribes to the resources, and returns the URIs of the successful subscriptions.
async fn subscribe_all(
    server: &Server,
    updates: &Arc<ResourceUpdates>,
    client: &Arc<Client>,
    sink: &MessageSink,
    cancel: &Cancellation,
    resources: Vec<String>,
) -> Vec<String> {
    if resources.is_empty() {
        return Vec::new();
    }
    let surface = match server.surface(client).await {
        Ok(surface) => surface,
        Err(error) => {
            tracing::debug!(error = error.message(), "the subscriptions failed");
            return Vec::new();
        }
    };
    let peer = ClientPeer::new(client, sink, AskBy::Nothing, None);
    let request = context(server, client, surface, peer, cancel.clone());
    let request = &request;
    let accepted = resources.into_iter().map(|uri| async move {
        let subscribing = resources_subscribe::add(server, client, request, updates, METHOD, &uri);
        match tokio::time::timeout(SUBSCRIBE_TIMEOUT, subscribing).await {
            Ok(Ok(())) => Some(uri),
            Ok(Err(fault)) => {
                tracing::debug!(uri, ?fault, "the subscription failed");
                None
            }
            Err(_) => {
                tracing::debug!(uri, "the server did not accept the subscription in time");
                None
            }
        }
    });
    join_all(accepted).await.into_iter().flatten().collect()
}

/// The requested flags that the proxy supports, and the requested resources without duplicates.
fn filter(request: &Request) -> Result<(Map<String, Value>, Vec<String>), RpcError> {
    let body = request.params.as_deref().unwrap_or(RawRef::EMPTY_OBJECT);
    let object = Object::of(body).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
    let requested: Option<Map<String, Value>> =
        object.get("notifications").and_then(|raw| serde_json::from_str(raw.get()).ok());
    let requested = requested.ok_or_else(|| RpcError::invalid_params("`notifications` must be an object"))?;
    let is_flag = |name: &str| FLAGS.iter().any(|(flag, _)| *flag == name);
    let resources = requested_resources(requested.get(RESOURCES))?;
    Ok((requested.into_iter().filter(|(name, value)| is_flag(name) && *value == true).collect(), resources))
}

fn requested_resources(requested: Option<&Value>) -> Result<Vec<String>, RpcError> {
    let invalid = || RpcError::invalid_params(&format!("`{RESOURCES}` must be an array of URIs"));
    let requested = match requested {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(requested)) => requested,
        Some(_) => return Err(invalid()),
    };
    if requested.len() > resource_updates::MAX_SUBSCRIPTIONS {
        let message =
            format!("too many subscriptions: `{RESOURCES}` can name {} at once", resource_updates::MAX_SUBSCRIPTIONS);
        return Err(RpcError::invalid_params(&message));
    }
    let uris: Option<IndexSet<String>> = requested.iter().map(|uri| uri.as_str().map(str::to_owned)).collect();
    Ok(uris.ok_or_else(invalid)?.into_iter().collect())
}

/// Adds the subscription id to params: the id of the request, byte for byte.
fn tagged(id: &Id, params: Value) -> String {
    let mut text = params.to_string();
    text.pop();
    let comma = if text.len() > 1 { "," } else { "" };
    format!("{text}{comma}\"_meta\":{{\"{}\":{id}}}}}", key::SUBSCRIPTION_ID)
}
