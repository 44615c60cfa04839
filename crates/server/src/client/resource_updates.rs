//! The resources that one client is subscribed to, and the updates that have not been sent to it yet.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use indexmap::IndexMap;
use parking_lot::Mutex;
use tokio::sync::Notify;

use proxy_engine::calls::{Dispatcher, Permit};
use proxy_engine::gateway::{Gateway, SurfaceHandle};
use proxy_engine::surface::{NoUpdates, UpdateSource};
use proxy_mcp_client::{CallError, Subscriber, Subscription, UpdateListener};
use proxy_wire::{RpcError, encode};

/// The maximum number of subscriptions of one session, or of one `subscriptions/listen` stream.
pub(crate) const MAX_SUBSCRIPTIONS: usize = 1000;

#[derive(Debug)]
struct FollowedResource {
    source: UpdateSource,
    /// Whether the resource is not published: the client knows its URI from a link.
    linked: bool,
    _subscription: Subscription,
}

/// The subscriptions of one client by published URI. Dropping it ends all of them.
#[derive(Debug, Default)]
pub(crate) struct ResourceUpdates {
    resources: Mutex<HashMap<String, FollowedResource>>,
    /// The updated URIs, without duplicates, each with the subscribed URI that it belongs to.
    unsent: Mutex<IndexMap<String, Arc<str>>>,
    wake: Notify,
}

impl ResourceUpdates {
    pub(crate) fn contains(&self, uri: &str) -> bool {
        self.resources.lock().contains_key(uri)
    }

    /// Fails if the client has the maximum number of subscriptions.
    pub(crate) fn check_limit(&self) -> Result<(), CallError> {
        if self.resources.lock().len() < MAX_SUBSCRIPTIONS {
            return Ok(());
        }
        let message = format!("too many subscriptions: the limit is {MAX_SUBSCRIPTIONS} per client");
        Err(CallError::Rpc(RpcError::internal(&message)))
    }

    /// Subscribes to the backend resource behind a published URI.
    pub(crate) async fn subscribe(
        self: &Arc<Self>,
        dispatcher: &Dispatcher,
        subscriber: &Subscriber,
        uri: &str,
        source: UpdateSource,
        linked: bool,
        permit: Permit,
    ) -> Result<(), CallError> {
        let UpdateSource::Backend { backend, original } = &source else { return Err(CallError::Unknown) };
        let listener = self.listener(uri, &source);
        let subscription = dispatcher.subscribe(backend, original, subscriber, listener, permit).await?;
        self.keep(uri, source, linked, subscription)
    }

    /// Keeps a subscription until the client unsubscribes.
    pub(crate) fn keep(
        &self,
        uri: &str,
        source: UpdateSource,
        linked: bool,
        subscription: Subscription,
    ) -> Result<(), CallError> {
        // Other subscriptions may have been added while this one was made.
        self.check_limit()?;
        let resource = FollowedResource { source, linked, _subscription: subscription };
        let before = self.resources.lock().insert(uri.to_owned(), resource);
        drop(before);
        Ok(())
    }

    /// Called with the URI of an updated resource, as its source names it.
    pub(crate) fn listener(self: &Arc<Self>, uri: &str, source: &UpdateSource) -> UpdateListener {
        // A weak reference, because the subscription owns the listener and would keep its own owner alive.
        let (updates, uri, source): (Weak<Self>, Arc<str>, _) = (Arc::downgrade(self), uri.into(), source.clone());
        Arc::new(move |updated| {
            if let Some(updates) = updates.upgrade() {
                updates.record(&uri, source.published(&uri, updated));
            }
        })
    }

    fn record(&self, uri: &Arc<str>, updated: String) {
        let mut unsent = self.unsent.lock();
        // Bounds the number of unsent URIs: above the limit, the subscribed URI stands for every URI below it.
        let updated = if unsent.len() < 2 * MAX_SUBSCRIPTIONS { updated } else { uri.to_string() };
        unsent.insert(updated, Arc::clone(uri));
        drop(unsent);
        self.wake.notify_one();
    }

    /// Ends all subscriptions but these.
    pub(crate) fn retain(&self, uris: &[String]) {
        let ended: Vec<FollowedResource> = {
            let mut resources = self.resources.lock();
            resources.extract_if(|uri, _| !uris.contains(uri)).map(|(_, resource)| resource).collect()
        };
        // The lock is released before the subscriptions are dropped.
        drop(ended);
    }

    pub(crate) fn remove(&self, uri: &str) {
        // The lock is released before the subscription is dropped.
        let resource = self.resources.lock().remove(uri);
        drop(resource);
    }

    pub(super) fn clear(&self) {
        let resources = std::mem::take(&mut *self.resources.lock());
        drop(resources);
        self.unsent.lock().clear();
    }

    /// Waits until there is an update to send.
    pub(crate) async fn updated(&self) {
        while self.unsent.lock().is_empty() {
            self.wake.notified().await;
        }
    }

    /// Takes the URIs of the updates to send. Updates of resources that the client has unsubscribed from, or that the
    /// script no longer publishes unchanged, are dropped.
    pub(crate) async fn take_updates(&self, gateway: &Gateway, handle: &SurfaceHandle) -> Vec<String> {
        let unsent = std::mem::take(&mut *self.unsent.lock());
        let Ok(surface) = gateway.surface(handle).await else { return Vec::new() };
        let (resources, calls) = (self.resources.lock(), gateway.calls());
        // The policies may have changed since the client subscribed, and may say something else about what is below it.
        let may_follow = |resource: &FollowedResource, uri: &str| {
            calls.may_follow(handle.key(), &surface, resource.source.backend(), uri)
        };
        let is_current = |updated: &str, uri: &str| {
            let is_known = |resource: &FollowedResource| match surface.updates_of(uri) {
                Ok(source) => source == resource.source,
                Err(NoUpdates::Unknown) => resource.linked,
                Err(NoUpdates::GeneratedByScript) => false,
            };
            let is_permitted = |resource: &FollowedResource| {
                may_follow(resource, uri) && (updated == uri || may_follow(resource, updated))
            };
            resources.get(uri).is_some_and(|resource| is_known(resource) && is_permitted(resource))
        };
        unsent.into_iter().filter(|(updated, uri)| is_current(updated, uri)).map(|(updated, _)| updated).collect()
    }
}

/// The encoded notification for the client of a session.
pub(crate) fn notification(uri: &str) -> String {
    encode::notification(METHOD, Some(&serde_json::json!({ "uri": uri }).to_string()))
}

pub(crate) const METHOD: &str = "notifications/resources/updated";
