//! `subscriptions/listen`: how a stateless client learns of changes.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use indexmap::IndexSet;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::{Outcome, capabilities, tasks};
use crate::backend::CallError;

use crate::json::{Object, RawRef};
use crate::server::Server;
use crate::server::client::changes::Changes;
use crate::server::client::client::Client;
use crate::server::client::followed;
use crate::server::client::followed::Followed;
use crate::server::client::sink::MessageSink;
use crate::server::era::encode_for;
use crate::wire::{Id, Request, RpcError, encode, key};

/// What a client can ask to be told, and how it is told.
const FLAGS: [(&str, &str); 3] = [
    ("toolsListChanged", "notifications/tools/list_changed"),
    ("resourcesListChanged", "notifications/resources/list_changed"),
    ("promptsListChanged", "notifications/prompts/list_changed"),
];

/// The key under which a client names single resources.
const RESOURCES: &str = "resourceSubscriptions";
/// How long servers get to accept subscriptions before the client is told which of them it has.
const ACCEPTANCE: Duration = Duration::from_secs(5);
/// Between two looks at updates: what changes all the time is not told of all the time.
const BREATH: Duration = Duration::from_millis(20);

/// Runs until the client ends it (no answer) or the proxy does (a result).
pub(super) async fn listen(
    server: &Server,
    client: &Arc<Client>,
    sink: &MessageSink,
    message: &Request,
    cancel: CancellationToken,
) -> Outcome {
    if let Some(error) = tasks::undeclared(client, message) {
        return Some(Err(error));
    }
    let (mut accepted, resources) = match filter(message) {
        Ok(filter) => filter,
        Err(error) => return Some(Err(error)),
    };
    let wanted: Vec<&str> =
        FLAGS.into_iter().filter(|(flag, _)| accepted.contains_key(*flag)).map(|(_, method)| method).collect();
    // What it sees must be made before it can be seen to change.
    let _ = capabilities::described_surface(server, &client.surface_handle).await;
    let mut changes = Changes::of(&server.gateway, &client.surface_handle);
    let followed = Arc::new(Followed::default());
    let following = tokio::select! {
        following = follow(server, &followed, client, resources) => following,
        () = cancel.cancelled() => return None,
    };
    if !following.is_empty() {
        accepted.insert(RESOURCES.to_owned(), following.into());
    }
    let acknowledgment = tagged(&message.id, json!({ "notifications": accepted }));
    sink.send(encode::notification("notifications/subscriptions/acknowledged", Some(&acknowledgment))).await;
    loop {
        tokio::select! {
            changed = changes.next() => {
                let Some(changed) = changed else { break };
                for method in changed.into_iter().filter(|method| wanted.contains(method)) {
                    let params = tagged(&message.id, json!({}));
                    sink.send(encode::notification(method, Some(&params))).await;
                }
            }
            () = followed.updated() => {
                for uri in followed.take_updates(server, &client.surface_handle) {
                    let params = tagged(&message.id, json!({ "uri": uri }));
                    sink.send(encode::notification(followed::METHOD, Some(&params))).await;
                }
                tokio::time::sleep(BREATH).await;
            }
            () = cancel.cancelled() => return None,
            () = server.gateway.stopping() => break,
        }
    }
    let result = tagged(&message.id, json!({}));
    let result = crate::json::valid(result).map_err(|error| RpcError::internal(&error.to_string()));
    Some(result.and_then(|result| encode_for::listen_result(client.revision, &result)))
}

/// Follows what can be followed; which of the resources that is.
async fn follow(server: &Server, followed: &Arc<Followed>, client: &Client, resources: Vec<String>) -> Vec<String> {
    let accepted = resources.into_iter().map(|uri| async move {
        match tokio::time::timeout(ACCEPTANCE, follow_one(server, followed, client, &uri)).await {
            Ok(Ok(())) => Some(uri),
            Ok(Err(fault)) => {
                tracing::debug!(uri, ?fault, "a subscription is not honoured");
                None
            }
            Err(_) => {
                tracing::debug!(uri, "a subscription was not accepted in time");
                None
            }
        }
    });
    join_all(accepted).await.into_iter().flatten().collect()
}

async fn follow_one(server: &Server, followed: &Arc<Followed>, client: &Client, uri: &str) -> Result<(), CallError> {
    let surface = server.surface(client).await?;
    followed.add(server, client, &surface, uri).await
}

/// The part of what the client asks for that the proxy will tell: lists, and the resources it names, each once.
fn filter(request: &Request) -> Result<(Map<String, Value>, Vec<String>), RpcError> {
    let body = request.params.as_deref().unwrap_or(RawRef::EMPTY_OBJECT);
    let object = Object::of(body).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
    let wanted: Option<Map<String, Value>> =
        object.get("notifications").and_then(|raw| serde_json::from_str(raw.get()).ok());
    let wanted = wanted.ok_or_else(|| RpcError::invalid_params("`notifications` must be an object"))?;
    let told = |name: &str| FLAGS.iter().any(|(flag, _)| *flag == name);
    let resources = named_resources(wanted.get(RESOURCES))?;
    Ok((wanted.into_iter().filter(|(name, value)| told(name) && *value == true).collect(), resources))
}

fn named_resources(named: Option<&Value>) -> Result<Vec<String>, RpcError> {
    let invalid = || RpcError::invalid_params(&format!("`{RESOURCES}` must be an array of URIs"));
    let named = match named {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(named)) => named,
        Some(_) => return Err(invalid()),
    };
    if named.len() > followed::LIMIT {
        let message = format!("too many subscriptions: `{RESOURCES}` can name {} at once", followed::LIMIT);
        return Err(RpcError::invalid_params(&message));
    }
    let uris: Option<IndexSet<String>> = named.iter().map(|uri| uri.as_str().map(str::to_owned)).collect();
    Ok(uris.ok_or_else(invalid)?.into_iter().collect())
}

/// Params that say which subscription they belong to, by the id of its request as it was written.
fn tagged(id: &Id, params: Value) -> String {
    let mut text = params.to_string();
    text.pop();
    let comma = if text.len() > 1 { "," } else { "" };
    format!("{text}{comma}\"_meta\":{{\"{}\":{id}}}}}", key::SUBSCRIPTION_ID)
}
