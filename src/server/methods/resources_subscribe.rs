//! `resources/subscribe` and `resources/unsubscribe`: updates of single resources for the client of a session.

use std::sync::Arc;

use serde_json::json;

use super::{MethodOutcome, item};
use crate::backend::{CallError, Subscriber};
use crate::calls::RequestContext;
use crate::json::{Object, Raw, RawRef};
use crate::model::{ItemKind, Owner};
use crate::server::Server;
use crate::server::client::resource_updates::ResourceUpdates;
use crate::server::client::state::Client;
use crate::server::client::subscriptions::SessionSubscriptions;
use crate::surface::{NoUpdates, Surface, UpdateSource};
use crate::wire::{Request, RpcError};

pub(super) async fn subscribe(
    server: &Server,
    client: &Client,
    request: &RequestContext,
    message: &Request,
) -> MethodOutcome {
    let (uri, subscriptions) = match read(client, message) {
        Ok(params) => params,
        Err(error) => return Some(Err(error)),
    };
    subscriptions.start_notifying(&server.gateway, &client.surface_handle);
    let outcome = tokio::select! {
        outcome = add(server, client, &request.surface, subscriptions.updates(), &uri) => outcome,
        () = request.cancel.cancelled() => return None,
    };
    item::encode(outcome.map(|()| empty()), ItemKind::ResourceTemplate, &uri, client.revision)
}

pub(super) fn unsubscribe(client: &Client, message: &Request) -> Result<Raw, RpcError> {
    let (uri, subscriptions) = read(client, message)?;
    subscriptions.updates().remove(&uri);
    Ok(empty())
}

/// Subscribes a client to one resource. A second subscription to the same URI has no effect.
pub(super) async fn add(
    server: &Server,
    client: &Client,
    surface: &Surface,
    updates: &Arc<ResourceUpdates>,
    uri: &str,
) -> Result<(), CallError> {
    if updates.contains(uri) {
        return Ok(());
    }
    updates.check_limit()?;
    let published = surface.updates_of(uri);
    let linked = published == Err(NoUpdates::Unknown);
    let source = match published {
        Ok(source) => source,
        Err(NoUpdates::Unknown) => {
            let backend = server.server_of_unlisted(surface, uri, client);
            UpdateSource { backend: backend.ok_or(CallError::Unknown)?, original: uri.to_owned() }
        }
        Err(NoUpdates::GeneratedByScript) => {
            let message = format!("cannot subscribe to `{uri}`: the script generates it on every read");
            return Err(CallError::Rpc(RpcError::invalid_params(&message)));
        }
    };
    let dispatcher = server.gateway.calls().dispatcher.clone();
    let (owner, gone) = (client.owner.clone(), client.gone.clone());
    let subscriber = Subscriber { owner, person: Owner::of_share(&client.principal), profile: client.profile(), gone };
    updates.subscribe(&dispatcher, &subscriber, uri, source, linked).await
}

fn empty() -> Raw {
    crate::json::raw(&json!({}))
}

/// The URI in a request, and the subscriptions of the client that sent it.
fn read<'a>(client: &'a Client, message: &Request) -> Result<(String, &'a SessionSubscriptions), RpcError> {
    let subscriptions = client.subscriptions.as_ref();
    let subscriptions = subscriptions.ok_or_else(|| RpcError::method_not_found(&message.method))?;
    let body = message.params.as_deref().unwrap_or(RawRef::EMPTY_OBJECT);
    let object = Object::of(body).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
    let uri = object.string("uri").ok_or_else(|| RpcError::invalid_params("`uri` is missing or not a string"))?;
    Ok((uri, subscriptions))
}
