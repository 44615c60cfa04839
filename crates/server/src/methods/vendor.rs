//! Methods and notifications that MCP does not define: forwarded without interpretation to the server that has them.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::MethodOutcome;
use crate::Server;
use crate::client::peer::ClientPeer;
use crate::client::state::Client;
use crate::era::{encode_for, missing_capability};
use proxy_engine::calls::{FlowItem, OtherRequest, RequestContext};
use proxy_engine::gateway::SurfaceHandle;
use proxy_engine::surface::Surface;
use proxy_json::{Object, Raw, RawRef};
use proxy_mcp_client::{CallError, ROOTS_CHANGED};
use proxy_model::flow::Labels;
use proxy_model::{ItemKind, Owner, is_protocol_method};
use proxy_wire::{ClientMeta, Notification, Request, RpcError, code, key, without_reserved};

/// Limits concurrent forwarding of notifications. Notifications above the limit are dropped.
static PERMITS: Semaphore = Semaphore::const_new(64);
/// How long forwarding a notification may take.
const FORWARD_TIMEOUT: Duration = Duration::from_secs(5);

/// The name of the only server, if the surface publishes it unchanged.
fn mirrored_server(surface: &Surface) -> Option<Arc<str>> {
    surface.mirrors().map(|only| Arc::clone(&only.name))
}

/// Forwards a request whose method MCP does not define.
pub(super) async fn forward(
    server: &Server,
    peer: &Arc<ClientPeer>,
    request: &RequestContext,
    message: &Request,
) -> MethodOutcome {
    let (method, revision) = (&message.method, peer.client().revision);
    let unknown = || Some(Err(RpcError::method_not_found(method)));
    let view = server.gateway.view(&peer.client().surface_handle);
    let configured = server.gateway.owner_of_method(method).filter(|owner| view.shows(owner));
    let Some(backend) = configured.or_else(|| mirrored_server(&request.surface)) else { return unknown() };
    let params = params(message.params.as_deref());
    let calls = server.gateway.calls();
    let Ok(permit) = calls.method_permit(request, &backend, method, Some(&params)) else { return unknown() };
    match progress_token(message) {
        Ok(token) => peer.set_progress_token(token),
        Err(error) => return Some(Err(error)),
    }
    let admitted = calls.admit_other(request, || OtherRequest {
        method,
        name: method,
        arguments: params.clone(),
        forwarded: Some(&params),
    });
    match admitted.await {
        Ok(()) => {}
        Err(CallError::Rejected(error)) => return Some(Err(error)),
        Err(_) => return None,
    }
    let call = request.backend_call(method.clone(), params);
    let about = || Some(FlowItem::Method { server: Arc::clone(&backend), method: method.clone() });
    let flow = calls.passage(request, method, Labels::default(), about);
    let outcome = calls.forward(request, &backend, call, permit, flow).await;
    // Encoded like a prompt: errors are JSON-RPC errors, not tool results.
    let outcome = outcome
        .or_else(|fault| missing_capability::resolve(revision, peer.client().declared(), ItemKind::Prompt, fault));
    Some(match outcome {
        Ok(result) => encode_for::result(revision, result),
        Err(CallError::Cancelled) => return None,
        Err(CallError::Rejected(error)) => Err(error),
        // `Asks` cannot happen: only script handlers ask this way, and a vendor method has none.
        Err(CallError::Unknown | CallError::Asks(_)) => return unknown(),
        Err(CallError::Failed { message, .. }) => Err(RpcError::internal(&message)),
        // The server itself does not know the method.
        Err(CallError::Rpc(error)) if error.code() == code::METHOD_NOT_FOUND => Err(error),
        Err(CallError::Rpc(error)) => Err(encode_for::error(revision, ItemKind::Prompt, method, error)),
        Err(error) => Err(RpcError::internal(&error.to_string())),
    })
}

/// Forwards a notification that MCP does not define to the server that has it.
pub(crate) fn forward_notification(
    server: &Server,
    notification: &Notification,
    handle: &Arc<SurfaceHandle>,
    owner: &Owner,
) {
    if is_protocol_method(&notification.method) {
        return;
    }
    let (server, handle, method) = (server.clone(), Arc::clone(handle), notification.method.clone());
    let params = notification.params.as_deref().map(|raw| params(Some(raw)));
    let owner = owner.clone();
    in_background(&notification.method, async move {
        let surface = server.gateway.surface(&handle).await.ok();
        let view = server.gateway.view(&handle);
        let backend = match server.gateway.owner_of_method(&method).filter(|owner| view.shows(owner)) {
            Some(backend) => Some(backend),
            None => surface.as_ref().and_then(|surface| mirrored_server(surface)),
        };
        let calls = server.gateway.calls();
        let permitted = backend.and_then(|backend| {
            let key = handle.key();
            let permit = calls.notification_permit(&key.principal, &key.client, &backend, &method, params.as_deref());
            Some((backend, permit.ok()?))
        });
        let admitted = async |backend: &Arc<str>| {
            let about = || FlowItem::Method { server: Arc::clone(backend), method: method.clone() };
            let Some(surface) = &surface else { return false };
            calls.admit_words(surface, &handle.key().principal, Some(&owner), &method, about).await.is_ok()
        };
        match permitted {
            Some((backend, _)) if !admitted(&backend).await => {
                tracing::debug!(method, "dropped a notification: a flow rule stops it");
            }
            Some((backend, permit)) => calls.dispatcher.notify(&backend, method, params, permit).await,
            None => tracing::debug!(method, "dropped a notification: no server supports the method"),
        }
    });
}

/// Forwards a notification of a client with a session. `notifications/roots/list_changed` goes to every server that has
/// a connection of its own for this client.
pub(crate) fn forward_session_notification(server: &Server, notification: &Notification, client: &Client) {
    if notification.method != ROOTS_CHANGED {
        return forward_notification(server, notification, &client.surface_handle, &client.owner);
    }
    let (server, owner) = (server.clone(), client.owner.clone());
    in_background(ROOTS_CHANGED, async move { server.gateway.calls().dispatcher.roots_changed(&owner).await });
}

/// Forwards a notification in a separate task. Above the limit of concurrent tasks the notification is dropped.
fn in_background(method: &str, forwarding: impl Future<Output = ()> + Send + 'static) {
    let Ok(permit) = PERMITS.try_acquire() else {
        tracing::debug!(method, "dropped a notification: too many are being forwarded");
        return;
    };
    tokio::spawn(async move {
        let _permit = permit;
        if tokio::time::timeout(FORWARD_TIMEOUT, forwarding).await.is_err() {
            tracing::debug!("dropped a notification: the server did not accept it in time");
        }
    });
}

/// The params without the `_meta` keys that concern the connection to the client only.
fn params(params: Option<&RawRef>) -> Raw {
    match params {
        Some(params) => without_reserved(params).into_owned(),
        None => proxy_json::raw(&serde_json::json!({})),
    }
}

/// The progress token of a request, byte for byte.
fn progress_token(request: &Request) -> Result<Option<Raw>, RpcError> {
    let Some(params) = &request.params else { return Ok(None) };
    let object = Object::of(params).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
    ClientMeta::read(&object)?;
    object.get(key::META).map_or(Ok(None), ClientMeta::progress_token)
}
