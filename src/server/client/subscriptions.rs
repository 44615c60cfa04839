//! `resources/subscribe` and `resources/unsubscribe`: how a client of a session follows single resources.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;
use tokio::task::AbortHandle;

use super::client::{Asked, Outcome};
use super::followed;
use super::followed::Followed;
use super::sink::MessageSink;
use crate::gateway::SurfaceHandle;
use crate::json::{Object, RawRef};
use crate::model::ItemKind;
use crate::server::Server;
use crate::server::methods::item::told;
use crate::wire::{Request, RpcError};

/// Between two looks: a resource that changes all the time is not told of all the time.
const BREATH: Duration = Duration::from_millis(20);

/// What a client follows, and the way it is told. It ends when the last copy is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Subscriptions(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    followed: Arc<Followed>,
    sink: MessageSink,
    teller: Mutex<Option<AbortHandle>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(teller) = self.teller.lock().unwrap_or_else(PoisonError::into_inner).take() {
            teller.abort();
        }
    }
}

impl Subscriptions {
    pub(crate) fn new(sink: MessageSink) -> Self {
        Subscriptions(Arc::new(Inner { followed: Arc::default(), sink, teller: Mutex::default() }))
    }

    /// Where the client is told what it did not ask for.
    pub(crate) fn sink(&self) -> &MessageSink {
        &self.0.sink
    }

    /// Ends all of them.
    pub(crate) fn clear(&self) {
        self.0.followed.clear();
    }

    /// Most clients follow nothing, and need nobody to tell them.
    fn tell(&self, server: &Server, view: &Arc<SurfaceHandle>) {
        let mut teller = self.0.teller.lock().unwrap_or_else(PoisonError::into_inner);
        if teller.is_none() {
            let task = tell(server.clone(), Arc::clone(view), Arc::clone(&self.0.followed), self.0.sink.clone());
            *teller = Some(tokio::spawn(task).abort_handle());
        }
    }
}

async fn tell(server: Server, view: Arc<SurfaceHandle>, followed: Arc<Followed>, sink: MessageSink) {
    loop {
        followed.updated().await;
        sink.ready().await;
        for uri in followed.take_updates(&server, &view) {
            sink.send(followed::notification(&uri)).await;
        }
        tokio::time::sleep(BREATH).await;
    }
}

impl Server {
    pub(crate) async fn subscribe(&self, asked: Asked<'_>) -> Outcome {
        let (uri, subscriptions) = match named(&asked) {
            Ok(named) => named,
            Err(error) => return Some(Err(error)),
        };
        subscriptions.tell(self, &asked.client.view);
        let outcome = tokio::select! {
            outcome = subscriptions.0.followed.add(self, asked.client, &uri) => outcome,
            () = asked.cancel.cancelled() => return None,
        };
        told(outcome.map(|()| nothing()), ItemKind::ResourceTemplate, &uri, asked.client.revision)
    }

    pub(crate) fn unsubscribe(&self, asked: &Asked<'_>) -> Outcome {
        let outcome = named(asked).map(|(uri, subscriptions)| {
            subscriptions.0.followed.remove(&uri);
            nothing()
        });
        Some(outcome)
    }
}

fn nothing() -> crate::json::Raw {
    crate::json::raw(&json!({}))
}

/// What a request is about, and the subscriptions of who makes it.
fn named<'a>(asked: &Asked<'a>) -> Result<(String, &'a Subscriptions), RpcError> {
    let subscriptions = asked.client.subscriptions.as_ref();
    let subscriptions = subscriptions.ok_or_else(|| RpcError::method_not_found(&asked.request.method))?;
    Ok((uri(asked.request)?, subscriptions))
}

fn uri(request: &Request) -> Result<String, RpcError> {
    let body = request.params.as_deref().unwrap_or(RawRef::EMPTY_OBJECT);
    let object = Object::of(body).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
    object.string("uri").ok_or_else(|| RpcError::invalid_params("`uri` is missing or not a string"))
}
