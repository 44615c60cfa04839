//! `resources/subscribe` and `resources/unsubscribe`: how the client of a session follows single resources.

use serde_json::json;

use super::{Outcome, item};
use crate::calls::RequestContext;
use crate::json::{Object, Raw, RawRef};
use crate::model::ItemKind;
use crate::server::Server;
use crate::server::client::client::Client;
use crate::server::client::subscriptions::Subscriptions;
use crate::wire::{Request, RpcError};

pub(super) async fn subscribe(
    server: &Server,
    client: &Client,
    request: &RequestContext,
    message: &Request,
) -> Outcome {
    let (uri, subscriptions) = match named(client, message) {
        Ok(named) => named,
        Err(error) => return Some(Err(error)),
    };
    subscriptions.start_notifying(server, &client.surface_handle);
    let outcome = tokio::select! {
        outcome = subscriptions.followed().add(server, client, &request.surface, &uri) => outcome,
        () = request.cancel.cancelled() => return None,
    };
    item::encode(outcome.map(|()| empty()), ItemKind::ResourceTemplate, &uri, client.revision)
}

pub(super) fn unsubscribe(client: &Client, message: &Request) -> Result<Raw, RpcError> {
    let (uri, subscriptions) = named(client, message)?;
    subscriptions.followed().remove(&uri);
    Ok(empty())
}

fn empty() -> Raw {
    crate::json::raw(&json!({}))
}

/// The URI in a request, and the subscriptions of the client that sent it.
fn named<'a>(client: &'a Client, message: &Request) -> Result<(String, &'a Subscriptions), RpcError> {
    let subscriptions = client.subscriptions.as_ref();
    let subscriptions = subscriptions.ok_or_else(|| RpcError::method_not_found(&message.method))?;
    let body = message.params.as_deref().unwrap_or(RawRef::EMPTY_OBJECT);
    let object = Object::of(body).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
    let uri = object.string("uri").ok_or_else(|| RpcError::invalid_params("`uri` is missing or not a string"))?;
    Ok((uri, subscriptions))
}
