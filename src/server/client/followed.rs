//! The resources one client follows, and the updates it has not been told of yet.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::{Arc, Weak};

use indexmap::IndexMap;
use tokio::sync::Notify;

use super::client::Client;
use crate::backend::{CallError, Listener, Subscriber, Subscription};
use crate::gateway::SurfaceHandle;
use crate::server::Server;
use crate::surface::{NoUpdates, Surface, UpdateSource};
use crate::wire::{RpcError, encode};

/// For one client, or one stream of a stateless client.
pub(crate) const LIMIT: usize = 1000;

#[derive(Debug)]
struct Held {
    source: UpdateSource,
    /// Nobody publishes it: the client has it from a link.
    linked: bool,
    _subscription: Subscription,
}

/// Dropping it ends all of its subscriptions.
#[derive(Debug, Default)]
pub(crate) struct Followed {
    held: Mutex<HashMap<String, Held>>,
    /// What was updated, each once however often that happened, with what it is followed by.
    untold: Mutex<IndexMap<String, Arc<str>>>,
    wake: Notify,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

impl Followed {
    /// Follows one more; following twice is following once.
    pub(crate) async fn add(
        self: &Arc<Self>,
        server: &Server,
        client: &Client,
        surface: &Surface,
        uri: &str,
    ) -> Result<(), CallError> {
        if locked(&self.held).contains_key(uri) {
            return Ok(());
        }
        self.has_room()?;
        let published = surface.updates_of(uri);
        let linked = published == Err(NoUpdates::Unknown);
        let source = match published {
            Ok(source) => source,
            Err(NoUpdates::Unknown) => {
                let backend = server.server_of_unlisted(surface, uri, client);
                UpdateSource { backend: backend.ok_or(CallError::Unknown)?, original: uri.to_owned() }
            }
            Err(NoUpdates::MadeByScript) => {
                let message = format!("{uri} cannot be subscribed to: it is made when it is read");
                return Err(CallError::Rpc(RpcError::invalid_params(&message)));
            }
        };
        let listener = self.listener(uri, &source);
        let dispatcher = server.gateway.calls().dispatcher.clone();
        let (owner, abilities, gone) = (client.owner.clone(), client.abilities, client.gone.clone());
        let follower = Subscriber { owner, abilities, gone };
        let subscription = dispatcher.subscribe(&source.backend, &source.original, &follower, listener).await;
        let subscription = subscription?;
        // Others may have come while the server was asked.
        self.has_room()?;
        locked(&self.held).insert(uri.to_owned(), Held { source, linked, _subscription: subscription });
        Ok(())
    }

    fn has_room(&self) -> Result<(), CallError> {
        if locked(&self.held).len() < LIMIT {
            return Ok(());
        }
        let message = format!("too many subscriptions: a client can have {LIMIT} at once");
        Err(CallError::Rpc(RpcError::internal(&message)))
    }

    fn listener(self: &Arc<Self>, uri: &str, source: &UpdateSource) -> Listener {
        // Not kept alive by what it follows: it could never be dropped.
        let (followed, uri, source): (Weak<Self>, Arc<str>, _) = (Arc::downgrade(self), uri.into(), source.clone());
        Arc::new(move |updated| {
            if let Some(followed) = followed.upgrade() {
                followed.note(&uri, source.published(&uri, updated));
            }
        })
    }

    fn note(&self, uri: &Arc<str>, updated: String) {
        let mut untold = locked(&self.untold);
        // Many things below one may change while nobody looks; that it changed itself says it all.
        let updated = if untold.len() < 2 * LIMIT { updated } else { uri.to_string() };
        untold.insert(updated, Arc::clone(uri));
        drop(untold);
        self.wake.notify_one();
    }

    pub(crate) fn remove(&self, uri: &str) {
        let held = locked(&self.held).remove(uri);
        drop(held);
    }

    pub(crate) fn clear(&self) {
        let held = std::mem::take(&mut *locked(&self.held));
        drop(held);
        locked(&self.untold).clear();
    }

    /// Waits until there is something to tell.
    pub(crate) async fn updated(&self) {
        while locked(&self.untold).is_empty() {
            self.wake.notified().await;
        }
    }

    /// The notifications to send: of what is still followed, and still published as it was when that began.
    pub(crate) fn take_updates(&self, server: &Server, view: &SurfaceHandle) -> Vec<String> {
        let untold = std::mem::take(&mut *locked(&self.untold));
        let Some(surface) = server.gateway.surface_now(view) else { return Vec::new() };
        let held = locked(&self.held);
        let current = |uri: &str| {
            held.get(uri).is_some_and(|held| match surface.updates_of(uri) {
                Ok(source) => source == held.source,
                Err(NoUpdates::Unknown) => held.linked,
                Err(NoUpdates::MadeByScript) => false,
            })
        };
        untold.into_iter().filter(|(_, uri)| current(uri)).map(|(updated, _)| updated).collect()
    }
}

/// The notification to a client of a session.
pub(crate) fn notification(uri: &str) -> String {
    encode::notification(METHOD, Some(&serde_json::json!({ "uri": uri }).to_string()))
}

pub(crate) const METHOD: &str = "notifications/resources/updated";
