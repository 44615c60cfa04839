//! `resources/subscribe` and `resources/unsubscribe`: updates of single resources for the client of a session.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::json;

use super::{MethodOutcome, context, item};
use crate::Server;
use crate::client::peer::{AskBy, ClientPeer};
use crate::client::resource_updates::ResourceUpdates;
use crate::client::state::Client;
use crate::client::subscriptions::SessionSubscriptions;
use proxy_engine::calls::{FlowItem, OtherRequest, RequestContext};
use proxy_engine::gateway::NewFollower;
use proxy_engine::surface::{NoUpdates, UpdateSource};
use proxy_json::{Object, Raw, RawRef};
use proxy_mcp_client::{CallError, Cancellation, Subscriber};
use proxy_model::{ItemKind, ItemRef, Owner, PersonKey};
use proxy_wire::{Request, RpcError};

/// The method of a subscription that a client has made elsewhere.
const METHOD: &str = "resources/subscribe";

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
        outcome = add(server, client, request, subscriptions.updates(), &message.method, &uri) => outcome,
        () = request.cancel.cancelled() => return None,
    };
    if outcome.is_ok() {
        share(server, client, &uri, true).await;
    }
    item::encode(outcome.map(|()| empty()), ItemKind::ResourceTemplate, &uri, client.revision)
}

pub(super) async fn unsubscribe(server: &Server, client: &Client, message: &Request) -> Result<Raw, RpcError> {
    let (uri, subscriptions) = read(client, message)?;
    subscriptions.updates().remove(&uri);
    share(server, client, &uri, false).await;
    Ok(empty())
}

/// Lets other processes that serve the session know of a subscription.
async fn share(server: &Server, client: &Client, uri: &str, is_subscribed: bool) {
    if let Some(id) = client.session().and_then(|session| session.http.as_ref()) {
        server.replicas.set_subscription(id.sid.digest(), uri, is_subscribed).await;
    }
}

/// Follows the resources to which a client has subscribed elsewhere, and no others.
pub(crate) async fn follow(server: &Server, client: &Arc<Client>, uris: Vec<String>) {
    let Some(subscriptions) = client.subscriptions() else { return };
    let updates = subscriptions.updates();
    updates.retain(&uris);
    if uris.iter().all(|uri| updates.contains(uri)) {
        return;
    }
    let Ok(surface) = server.surface(client).await else { return };
    subscriptions.start_notifying(&server.gateway, &client.surface_handle);
    let peer = ClientPeer::new(client, subscriptions.sink(), AskBy::Nothing, None);
    let request = context(server, client, surface, peer, Cancellation::default());
    for uri in uris.iter().filter(|uri| !updates.contains(uri)) {
        if let Err(error) = add(server, client, &request, updates, METHOD, uri).await {
            tracing::debug!(uri, ?error, "a subscription from another process failed");
        }
    }
}

/// Subscribes a client to one resource if the script's `on_other_request` admits it. A second subscription to the same
/// URI has no effect.
pub(super) async fn add(
    server: &Server,
    client: &Client,
    request: &RequestContext,
    updates: &Arc<ResourceUpdates>,
    method: &str,
    uri: &str,
) -> Result<(), CallError> {
    let (calls, surface) = (server.gateway.calls(), &request.surface);
    let name = surface.published_key(ItemKind::Resource, uri);
    let unlisted_on = server.server_of_unlisted(surface, uri, client);
    let permit = match (surface.find(ItemKind::Resource, uri), &unlisted_on) {
        (Some(entry), _) => calls.subscribe_permit(request, entry, name)?,
        (None, Some(backend)) => calls.unlisted_permit(request, backend, uri)?,
        (None, None) => return Err(CallError::Unknown),
    };
    let admission = || {
        let arguments = proxy_json::raw(&json!({ "uri": name }));
        OtherRequest { method, name, arguments, forwarded: None }
    };
    if updates.contains(uri) {
        return calls.admit_other(request, admission).await;
    }
    updates.check_limit()?;
    let published = surface.updates_of(uri);
    let linked = published == Err(NoUpdates::Unknown);
    let source = match published {
        Ok(source) => source,
        Err(NoUpdates::Unknown) => {
            UpdateSource::Backend { backend: unlisted_on.ok_or(CallError::Unknown)?, original: uri.to_owned() }
        }
        Err(NoUpdates::GeneratedByScript) => {
            let message = format!("cannot subscribe to `{uri}`: the script generates it on every read");
            return Err(CallError::Rpc(RpcError::invalid_params(&message)));
        }
    };
    calls.admit_other(request, admission).await?;
    if let UpdateSource::Backend { backend, original } = &source {
        let name = original.as_str().into();
        let target = ItemRef { backend: Arc::clone(backend), kind: ItemKind::Resource, name };
        let about = || FlowItem::Item { target, uri: Some(uri.to_owned()) };
        calls.admit_words(surface, &request.principal, request.owner(), METHOD, about).await?;
    }
    let (owner, gone) = (client.owner.clone(), client.session().map(|session| session.gone.clone()));
    let subscriber = Subscriber {
        owner,
        person: Owner::of_share(&client.principal),
        person_key: PersonKey::of(&client.principal),
        profile: client.profile(),
        gone,
    };
    if calls.refresh_target(surface, uri).is_some() {
        let fresh = || Arc::new(Mutex::new(Some(Arc::clone(&client.surface_handle))));
        let current = client.subscriptions().map(|subscriptions| Arc::clone(subscriptions.current_surface()));
        let follower = NewFollower {
            uri: uri.into(),
            source: source.clone(),
            surface: current.unwrap_or_else(fresh),
            subscriber,
            listener: updates.listener(uri, &source),
        };
        return updates.keep(uri, source, linked, server.gateway.follow(follower).await);
    }
    updates.subscribe(&calls.dispatcher, &subscriber, uri, source, linked, permit).await
}

fn empty() -> Raw {
    proxy_json::raw(&json!({}))
}

/// The URI in a request, and the subscriptions of the client that sent it.
fn read<'a>(client: &'a Client, message: &Request) -> Result<(String, &'a SessionSubscriptions), RpcError> {
    let subscriptions = client.subscriptions();
    let subscriptions = subscriptions.ok_or_else(|| RpcError::method_not_found(&message.method))?;
    let body = message.params.as_deref().unwrap_or(RawRef::EMPTY_OBJECT);
    let object = Object::of(body).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
    let uri = object.string("uri").ok_or_else(|| RpcError::invalid_params("`uri` is missing or not a string"))?;
    Ok((uri, subscriptions))
}
