//! Methods that the protocol does not know: passed on to the server that has them, unread.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::backend::{CallError, ROOTS_CHANGED};
use crate::calls::CallFault;
use crate::gateway::SurfaceHandle;
use crate::json::{Object, Raw, RawRef};
use crate::model::{ItemKind, is_protocol_method};
use crate::server::Server;
use crate::server::client::client::{Asked, Client, Outcome};
use crate::server::client::peer::{ClientPeer, Way};
use crate::server::era::{encode_for, missing_capability};
use crate::wire::{ClientMeta, Notification, Request, RpcError, code, key, without_reserved};

/// Notifications on their way at once; more are dropped. Nobody waits for them.
static PLACES: Semaphore = Semaphore::const_new(64);
/// How long one may take.
const PATIENCE: Duration = Duration::from_secs(5);

impl Server {
    /// The server that has a method: the one the config gives it to, else the only one, if all of it is passed through.
    async fn owner_of_method(&self, method: &str, view: &SurfaceHandle) -> Option<Arc<str>> {
        if is_protocol_method(method) {
            return None;
        }
        if let Some(owner) = self.gateway.owner_of_method(method) {
            return Some(owner);
        }
        let surface = self.gateway.surface(view).await.ok()?;
        surface.mirrors().map(|only| Arc::clone(&only.name))
    }

    /// Answers a method that is nobody's else.
    pub(crate) async fn pass_on(&self, asked: Asked<'_>) -> Outcome {
        let method = &asked.request.method;
        let unknown = || Some(Err(RpcError::method_not_found(method)));
        let Some(owner) = self.owner_of_method(method, &asked.client.view).await else { return unknown() };
        let token = match progress_token(asked.request) {
            Ok(token) => token,
            Err(error) => return Some(Err(error)),
        };
        // A stateless client is asked by the result of a few methods only, and this is none of them.
        let way = if asked.client.revision.is_stateless() { Way::None } else { Way::Request };
        let peer = ClientPeer::new(asked.client, asked.sink, token, way);
        let caller = asked.client.caller(asked.cancel, Some(peer));
        let outcome =
            self.gateway.calls().forward(&owner, method.clone(), params(asked.request.params.as_deref()), caller).await;
        // None of these is a tool, whose errors a model would read.
        let outcome = outcome.or_else(|fault| missing_capability::settled(asked.client, ItemKind::Prompt, fault));
        let revision = asked.client.revision;
        Some(match outcome {
            Ok(result) => encode_for::result(revision, result),
            Err(CallFault::Cancelled) => return None,
            // No handler of a script is behind such a method, so nothing is asked.
            Err(CallFault::Unknown | CallFault::Asks(_)) => return unknown(),
            Err(CallFault::Failed { message, .. }) => Err(RpcError::internal(&message)),
            // Here it means what it says.
            Err(CallFault::Backend(CallError::Rpc(error))) if error.code() == code::METHOD_NOT_FOUND => Err(error),
            Err(CallFault::Backend(CallError::Rpc(error))) => {
                Err(encode_for::error(revision, ItemKind::Prompt, method, error))
            }
            Err(CallFault::Backend(error)) => Err(RpcError::internal(&error.to_string())),
        })
    }

    /// Passes on what a client says unasked, if the protocol does not know it and a server does.
    pub(crate) fn pass_notification(&self, notification: &Notification, view: &Arc<SurfaceHandle>) {
        if is_protocol_method(&notification.method) {
            return;
        }
        let (server, view, method) = (self.clone(), Arc::clone(view), notification.method.clone());
        let params = notification.params.as_deref().map(|raw| params(Some(raw)));
        in_background(&notification.method, async move {
            match server.owner_of_method(&method, &view).await {
                Some(owner) => server.gateway.calls().dispatcher.notify(&owner, method, params).await,
                None => tracing::debug!(method, "a notification that no server has was dropped"),
            }
        });
    }

    /// Passes on what a client that has a session says unasked.
    pub(crate) fn pass_notification_of(&self, notification: &Notification, client: &Client) {
        if notification.method != ROOTS_CHANGED {
            return self.pass_notification(notification, &client.view);
        }
        let (server, owner) = (self.clone(), client.owner.clone());
        in_background(ROOTS_CHANGED, async move { server.gateway.calls().dispatcher.roots_changed(&owner).await });
    }
}

/// Passes something on while nobody waits for it; too much at once is dropped.
fn in_background(method: &str, passing: impl Future<Output = ()> + Send + 'static) {
    let Ok(place) = PLACES.try_acquire() else {
        tracing::debug!(method, "a notification was dropped: too many are on their way");
        return;
    };
    tokio::spawn(async move {
        let _place = place;
        if tokio::time::timeout(PATIENCE, passing).await.is_err() {
            tracing::debug!("a notification was not taken in time");
        }
    });
}

/// The params without what concerns our own leg only.
fn params(params: Option<&RawRef>) -> Raw {
    match params {
        Some(params) => without_reserved(params).into_owned(),
        None => crate::json::raw(&serde_json::json!({})),
    }
}

/// Under which the client wants progress, as it was written.
fn progress_token(request: &Request) -> Result<Option<Raw>, RpcError> {
    let Some(params) = &request.params else { return Ok(None) };
    let object = Object::of(params).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
    ClientMeta::read(&object)?;
    object.get(key::META).map_or(Ok(None), ClientMeta::progress_token)
}
